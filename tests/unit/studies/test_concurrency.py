"""The study of concurrency: its suggested ratio of processors, judged by the measured ones."""

from dataclasses import replace

import pytest

from factories.benchmarks import made_contents
from factories.worded import summarise
from tlslab.analysis.benchmark.curves import Curve, make_curves, make_splits
from tlslab.analysis.benchmark.findings import split_findings
from tlslab.analysis.benchmark.processors import Costs, costs
from tlslab.analysis.benchmark.summary import measured_cells
from tlslab.domain.estimates import OPERATION, OPERATION_COST, OPERATIONS, SIGNERS_COST, quantile
from tlslab.domain.finding import Summary
from tlslab.studies.concurrency import CONCURRENCY, judge, most_within, suggested


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarise(made_contents())


@pytest.fixture(scope="module")
def known() -> Costs:
    """The costs of signatures through the cluster."""
    found = costs(make_curves(measured_cells(made_contents())), 2)
    return next(each for each in found if each.curve.benchmark == "sign")


def with_ratio(known: Costs, low: float | None, high: float | None, n: int = 5) -> Costs:
    return replace(known, ratio=replace(known.ratio, low=low, high=high, n=n))


def test_the_suggested_ratio_is_confirmed_or_refuted(summary: Summary) -> None:
    found = [f for f in summary.findings if f.code == "processor_ratio_suggested"]
    verdicts = {f.values["where"].partition(",")[0]: f.values["verdict"] for f in found}
    assert verdicts["XML signatures"] == "confirmed"
    assert verdicts["TLS 1.2 handshakes"] == "refuted"
    assert " refutes the suggested 1 : 2 here" in " ".join(f.text for f in found)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.8, 2.2, "confirmed"),
        (0.5, 2.5, "open"),
        (0.3, 1.9, "refuted"),
        (None, None, "reserved"),
    ],
)
def test_only_a_narrow_interval_confirms_a_ratio(
    known: Costs, low: float | None, high: float | None, verdict: str
) -> None:
    assert judge(with_ratio(known, low, high), 2.0, 1) == verdict


def test_fewer_than_five_forks_refute_nothing(known: Costs) -> None:
    assert judge(with_ratio(known, 0.75, 0.83, n=4), 2.0, 1) == "reserved"


def test_several_ratios_are_judged_together(known: Costs) -> None:
    """A single interval excludes 1 : 2; with those of three other ratios it does not."""
    one = with_ratio(known, 1.7, 1.95)
    one = replace(one, ratio=replace(one.ratio, value=1.8))
    assert [judge(one, 2.0, family) for family in (1, 4)] == ["refuted", "open"]


def test_ratios_with_a_reservation_are_not_of_the_family(known: Costs) -> None:
    one, few = with_ratio(known, 0.75, 0.83), with_ratio(known, 0.75, 0.83, n=4)
    assert [each.values["family"] for each in suggested([one, few, few], 2.0)] == [1] * 3
    assert [each.values["family"] for each in suggested([one, one], 2.0)] == [2] * 2


def test_published_figures_stand_beside_ours(summary: Summary) -> None:
    (table,) = (table for table in summary.tables if table.id == "published")
    rows = {str(row[0]): row[1] for row in table.rows}
    assert rows["drawing a message, microseconds"] == "12"
    assert rows["signatures per TLS 1.2 handshake at the most of each"] == "2"
    assert any(paragraph.startswith("Published: ") for paragraph in summary.method)


def sentence_with(summary: Summary, **values: object) -> str:
    """The sentence of the first rate within the bound, with other values."""
    found = next(f for f in summary.findings if f.code == "most_within")
    word = CONCURRENCY.sentences["most_within"]
    return word({**found.values, **values}, found.cells, summary)


def test_the_highest_rate_with_a_tail_below_the_bound(summary: Summary) -> None:
    """The made-up tail is 2.5 times the mean: with a bound between two levels the lower counts."""
    curve = next(
        each
        for each in make_curves(measured_cells(made_contents()))
        if (each.benchmark, each.keys) == ("sign", "cluster")
    )
    tails = dict(curve.estimates(quantile(OPERATION, 99)))
    found = most_within(curve, (tails[4].value + tails[8].value) / 2)
    assert found is not None
    assert found[0] == 4
    assert most_within(curve, tails[1].value / 2) is None
    words = [f.text for f in summary.findings if f.code == "most_within"]
    warming = sentence_with(summary, warming=True)
    assert "cluster, while its processes were still warming up: " in warming
    assert any("the study: 4,000/s on 24 processors" in each for each in words)


@pytest.mark.parametrize(
    ("general", "signing", "limit"),
    [(900.0, 300.0, "general"), (300.0, 900.0, "signing"), (300.0, 200.0, "neither")],
)
def test_the_side_that_is_full_is_the_limit(general: float, signing: float, limit: str) -> None:
    """1,000 operations/s on one processor each: microseconds per operation are busy per mille."""
    cell = measured_cells(made_contents())[0]
    cell = replace(
        cell,
        summary=replace(cell.summary, reasons=()),
        values={
            OPERATIONS: {block: 1000.0 + block for block in range(5)},
            OPERATION_COST: dict.fromkeys(range(5), general),
            SIGNERS_COST: dict.fromkeys(range(5), signing),
        },
    )
    curve = Curve("jdk-17", "sign", "cluster", {8: cell}, None, None, split="1:1")
    (found,) = split_findings([curve])
    assert found.values["limit"] == limit
    assert found.values["general"].value == pytest.approx(general / 1000, rel=0.01)


def test_cells_with_processors_of_their_own_are_no_part_of_a_curve() -> None:
    cells = measured_cells(made_contents())
    eight = [cell for cell in cells if cell.summary.factors["threads"] == "8"]
    levels = [{**cell.summary.factors, "split": "1:1"} for cell in eight]
    apart = [
        replace(cell, summary=replace(cell.summary, factors=factors))
        for cell, factors in zip(eight, levels, strict=True)
    ]
    assert make_curves([*cells, *apart]) == make_curves(cells)
    assert {curve.split for curve in make_splits(apart)} == {"1:1"}
    assert "1 general : 1 signing" in make_splits(apart)[0].name
