"""The study of concurrency: its suggested ratio of processors, judged by the measured ones."""

from dataclasses import replace

import pytest

from factories.benchmarks import made_contents
from factories.worded import summarise
from tlslab.analysis.benchmark.curves import make_curves
from tlslab.analysis.benchmark.processors import Costs, costs
from tlslab.analysis.benchmark.summary import measured_cells
from tlslab.domain.finding import Summary
from tlslab.studies.concurrency import judge, suggested


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
