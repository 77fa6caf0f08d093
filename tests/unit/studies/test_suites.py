"""The suites study: orders with ties, correlation with a published order, omitted suites."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from factories.suite_cells import STUDY, all_cells, cell, said, stated
from tlslab.analysis.compare import Measured
from tlslab.domain.estimates import (
    OPEN_BYTES,
    OPEN_MEMORY,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
)
from tlslab.domain.finding import CellSummary, Note
from tlslab.domain.names import find_suite
from tlslab.studies.study import Additions
from tlslab.studies.suites import additions
from tlslab.studies.suites.answers import fastest
from tlslab.studies.suites.classes import ClassOrder, class_order
from tlslab.studies.suites.orders import correlation_with, order_correlation, ranks, tau_bounds
from tlslab.studies.suites.places import family, places, short_name


@pytest.fixture(scope="module")
def study() -> Additions:
    return additions(all_cells(), STUDY)


def test_the_published_order_has_the_23_suites_of_three_families() -> None:
    assert len(STUDY["order"]) == 23
    names = [find_suite(name) for name in STUDY["order"]]
    exchanges = [suite.name.partition("_WITH_")[0] for suite in names if suite]
    assert [exchanges.count(f"TLS_{e}") for e in ("ECDHE_RSA", "RSA", "DHE_RSA")] == [6, 8, 9]


def test_each_suite_stands_once_with_the_usual_size(study: Additions) -> None:
    (place,) = places(all_cells())
    assert len(place.usual) == 24
    assert {c.summary.factors["dh_bits"] for c in place.usual} == {"none", "2048"}
    table = next(table for table in study.tables if table.id.startswith("suites"))
    assert len(table.rows) == 24
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_suites_that_cannot_be_told_apart_share_a_rank(study: Additions) -> None:
    (place,) = places(all_cells())
    found = ranks(place.usual, OPEN_REQUESTS)
    by_name = {short_name(c): found[c.summary.key] for c in place.usual}
    assert by_name["AES128-GCM-SHA256"] == "1–7"
    assert by_name["AES256-SHA256"] not in ("1", "1=")
    fastest = stated(study, f"suites_{OPEN_REQUESTS}")
    assert (fastest["best"], fastest["ties"], fastest["n"]) == (False, 6, 24)
    assert 0 < fastest["open"] < 0.05


def test_a_suite_is_best_only_where_that_is_established() -> None:
    fast, slow = cell("AES128-GCM-SHA256", 20.0, 620.0), cell("AES256-SHA256", 30.0, 620.0)
    equal = cell("AES256-GCM-SHA384", 20.0, 620.0)
    best = []
    for cells in ([fast, slow], [fast, equal, slow]):
        (place,) = places(cells)
        found = fastest(place, OPEN_REQUESTS)
        assert found is not None
        best.append((found.values["best"], found.values["names"]))
    names = ["AES128-GCM-SHA256", "AES256-SHA256"]
    assert best == [(True, names), (False, names)]


def test_bars_are_grouped_by_family_best_first(study: Additions) -> None:
    keep_alive = next(f for f in study.figures if f.id.startswith("suites-keep-alive-requests"))
    assert [series.name for series in keep_alive.series] == [
        "ECDHE-ECDSA",
        "ECDHE-RSA",
        "DHE-RSA",
        "RSA",
    ]
    for figure in study.figures:
        for series in figure.series:
            assert len(series.x) == len(series.y) == len(series.low) == len(series.high)
    assert list(keep_alive.series[3].y) == sorted(
        (y or 0 for y in keep_alive.series[3].y), reverse=True
    )
    handshake = next(f for f in study.figures if f.id.startswith("suites-server-cpu-us-per-conn"))
    assert list(handshake.series[3].y) == sorted(y or 0 for y in handshake.series[3].y)
    assert len({figure.id for figure in study.figures}) == len(study.figures)


def test_orders_are_compared_by_tau() -> None:
    cells = all_cells()
    mine = sorted(cells[:23], key=lambda c: c.summary.estimates[OPEN_REQUESTS].value, reverse=True)
    tau = correlation_with(cells[:23], OPEN_REQUESTS, [short_name(c) for c in mine])
    assert tau is not None
    assert tau.value == pytest.approx(1)
    assert tau.n == 23
    backwards = correlation_with(cells[:23], OPEN_REQUESTS, [short_name(c) for c in reversed(mine)])
    assert backwards is not None
    assert backwards.value == pytest.approx(-1)
    assert tau.low is not None
    assert tau.low <= tau.value
    both = order_correlation(cells[:23], OPEN_REQUESTS, SERVER_COST)
    assert both is not None
    assert -1 < both.value < 0.9
    assert correlation_with(cells[:3], OPEN_REQUESTS, [short_name(c) for c in cells]) is None


def test_undecided_pairs_may_be_either() -> None:
    one = {(0, 1): 1, (0, 2): 1, (1, 2): -1}
    assert tau_bounds(3, one, one) == (1.0, 1.0)
    assert tau_bounds(3, one, {(0, 1): -1, (0, 2): 1}) == pytest.approx((-1 / 3, 1 / 3))
    assert tau_bounds(3, {}, one) == (-1.0, 1.0)


@pytest.mark.parametrize(("spread", "blocks"), [(0.10, 6), (0.03, 6), (0.10, 2)], ids=str)
def test_bounds_of_tau_hold_that_of_the_true_rates(spread: float, blocks: int) -> None:
    """A bootstrap over blocks contained the truth in 14 to 77 % of these cases."""
    draw = np.random.default_rng(1)
    true = draw.normal(0, spread, 23)
    other = 0.7 * true + 0.5 * draw.normal(0, spread, 23)
    tau = stats.kendalltau(true, -other).statistic
    held = 0
    for _ in range(30):
        cells = [
            drawn(f"s{i}", {OPEN_REQUESTS: a, SERVER_COST: b}, blocks, draw)
            for i, (a, b) in enumerate(zip(true, -other, strict=True))
        ]
        found = order_correlation(cells, OPEN_REQUESTS, SERVER_COST)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high
        # For a rate the highest value is best, for a cost the lowest.
        held += bool(found.low <= -tau <= found.high)
    assert held >= 27


def drawn(key: str, logs: dict[str, float], blocks: int, draw: np.random.Generator) -> Measured:
    """A cell whose values have noise of 5 %."""
    values = {
        name: dict(enumerate(np.exp(log + draw.normal(0, 0.05, blocks)).tolist()))
        for name, log in logs.items()
    }
    return Measured(CellSummary(key, {"suite": key}, "valid", (), blocks, {}), values)


def test_findings_on_orders_name_their_cells_and_are_no_warnings(study: Additions) -> None:
    codes = {"suites_two_orders", "suites_beside_the_study"}
    found = [finding for finding in study.findings if finding.code in codes]
    assert {finding.code for finding in found} == codes
    assert all(finding.cells for finding in found)


def test_the_study_is_beside_ours_only_where_it_applies(study: Additions) -> None:
    values = stated(study, "suites_beside_the_study")
    assert (values["n"], values["tau"].n) == (23, 23)
    assert values["published"] == pytest.approx(10_142 / 7_302)
    other = [
        Measured(replace(c.summary, factors={**c.summary.factors, "http": "1.1"}), c.values)
        for c in all_cells()
    ]
    assert not stated(additions(other, STUDY), "suites_beside_the_study")
    assert len(additions([*all_cells(), *other], STUDY).tables) == 6


def test_where_the_generator_was_the_limit_the_cost_of_a_request_decides() -> None:
    cells = [
        Measured(replace(c.summary, lower_bounds=(OPEN_REQUESTS,)), c.values) for c in all_cells()
    ]
    (place,) = places(cells)
    assert place.keep_alive == OPEN_SERVER_COST
    study = additions(cells, STUDY)
    assert stated(study, f"suites_{OPEN_SERVER_COST}")
    assert stated(study, "suites_beside_the_study")["ratio"].value == pytest.approx(1.5, rel=0.02)
    assert stated(study, "dh_sizes")["differing"] == []


def test_a_refused_suite_keeps_its_reason() -> None:
    cells = all_cells()
    note = Note("unsupported", "the server sent the alert handshake_failure")
    refused = replace(cells[8].summary, verdict="unsupported", reasons=(note,), estimates={})
    cells[8] = Measured(refused, {})
    study = additions(cells, STUDY)
    assert stated(study, "suites_unsupported")["reasons"] == {note.message: ["AES128-CCM"]}
    table = next(table for table in study.tables if table.id.startswith("suites"))
    row = next(row for row in table.rows if row[0] == "AES128-CCM")
    assert "handshake_failure" in str(row[1])
    assert len(row) == len(table.columns)


def test_without_keep_alive_runs_handshakes_are_still_reported() -> None:
    cells = [
        Measured(
            replace(c.summary, estimates={SERVER_COST: c.summary.estimates[SERVER_COST]}),
            {SERVER_COST: c.values[SERVER_COST]},
        )
        for c in all_cells()
    ]
    study = additions(cells, {})
    assert stated(study, f"suites_{SERVER_COST}")
    assert not any("keep-alive" in figure.id for figure in study.figures)


def test_families_are_key_exchange_and_certificate() -> None:
    names = {"AES128-SHA": "RSA", "DHE-RSA-AES128-SHA": "DHE-RSA"}
    for name, expected in names.items():
        assert family(cell(name, 1.0, 1.0)) == expected


def test_suites_without_a_bar_are_named() -> None:
    first, *others = all_cells()
    bound = Measured(replace(first.summary, lower_bounds=(OPEN_REQUESTS,)), first.values)
    found = {figure.id: figure.caption for figure in additions([bound, *others], STUDY).figures}
    left_out = f"Not drawn, being lower bounds or not valid: {short_name(first)}."
    assert {id_ for id_, caption in found.items() if left_out in caption} == {
        id_ for id_ in found if id_.startswith("suites-keep-alive-requests")
    }
    whole = additions(all_cells(), STUDY)
    assert not any("Not drawn" in figure.caption for figure in whole.figures)


def verdicts(order: ClassOrder | None) -> dict[tuple[str, str], str]:
    assert order is not None
    return {each["pair"]: each["verdict"] for each in order.values["claims"]}


def test_classes_are_told_apart_where_single_suites_are_not() -> None:
    (place,) = places(all_cells())
    found = class_order(place, OPEN_REQUESTS, STUDY["classes"])
    assert verdicts(found) == {
        ("AEAD", "CBC"): "holds",
        ("GCM", "CCM"): "holds",
        ("CCM", "ChaCha20"): "holds",
        ("ChaCha20", "CBC with SHA-1"): "holds",
        ("CBC with SHA-1", "CBC with SHA-256"): "alike",
    }
    assert found is not None
    ratio = found.claims["GCM", "CCM"]
    assert ratio is not None
    assert ratio.ratio.ratio == pytest.approx(24 / 20, rel=0.01)
    new = class_order(place, SERVER_COST, STUDY["classes"])
    assert new is not None
    assert new.values["within"] < 0.01


def test_classes_are_compared_over_what_both_have() -> None:
    """CCM is in slow families only, which says nothing of CCM."""
    cells = [
        cell("ECDHE-RSA-AES128-GCM-SHA256", 10.0, 800.0),
        cell("DHE-RSA-AES128-GCM-SHA256", 40.0, 1500.0, 2048),
        cell("DHE-RSA-AES128-CCM", 40.0, 1500.0, 2048),
        cell("DHE-RSA-AES256-CCM", 80.0, 1500.0, 2048),
    ]
    (place,) = places(cells)
    found = class_order(place, OPEN_REQUESTS, STUDY["classes"])
    assert found is not None
    ratio = found.claims["GCM", "CCM"]
    assert ratio is not None
    assert (ratio.matches, ratio.ratio.verdict) == (1, "equivalent")
    assert verdicts(found)["AEAD", "CBC"] == "untried"


def test_a_claim_may_be_reversed_or_open() -> None:
    faster = [
        cell("DHE-RSA-AES128-GCM-SHA256", 30.0, 1500.0, 2048),
        cell("DHE-RSA-AES128-CCM", 20.0, 1500.0, 2048),
    ]
    (place,) = places(faster)
    assert verdicts(class_order(place, OPEN_REQUESTS, STUDY["classes"]))["GCM", "CCM"] == "reversed"
    noisy = [cell(short_name(c), 20.0, 1500.0, 2048, noise=0.3) for c in faster]
    (place,) = places(noisy)
    found = class_order(place, OPEN_REQUESTS, STUDY["classes"])
    assert verdicts(found)["GCM", "CCM"] == "open"


def test_a_lower_bound_takes_no_part_in_its_class_and_is_named() -> None:
    first, *others = all_cells()
    bound = Measured(replace(first.summary, lower_bounds=(OPEN_REQUESTS,)), first.values)
    (place,) = places([bound, *others])
    (whole,) = places(all_cells())
    found, all_ = (class_order(p, OPEN_REQUESTS, STUDY["classes"]) for p in (place, whole))
    assert found is not None
    assert all_ is not None
    assert found.left_out == (short_name(first),)
    pair = ("GCM", "CCM")
    some, every = found.claims[pair], all_.claims[pair]
    assert some is not None
    assert every is not None
    assert some.matches == every.matches - 1


def test_the_classes_open_the_answer_with_their_picture(study: Additions) -> None:
    assert study.opening is not None
    first = study.figures[0]
    assert study.opening.figure == first.id
    (series,) = first.series
    assert series.x == tuple(f"{n}. {name}" for n, name in enumerate(STUDY["classes"], start=1))
    assert series.y[0] == 1.0
    assert series.y[1] == pytest.approx(20 / 24, rel=0.01)
    assert all(low is not None for low in series.low[1:])
    assert additions(all_cells(), {}).opening is None


def without_tls(request_us: float, connection_us: float, **changes: object) -> Measured:
    plain = cell("AES128-SHA", request_us, connection_us, **changes)  # type: ignore[arg-type]
    factors = {"tls": "none", "suite": "by-version", "http": "2", "dh_bits": "none"}
    return Measured(replace(plain.summary, key="plain", factors=factors), plain.values)


def test_suites_stand_beside_http_without_tls() -> None:
    suites = [cell("AES128-GCM-SHA256", 20.0, 620.0), cell("AES256-SHA256", 40.0, 620.0)]
    study = additions([*suites, without_tls(16.0, 62.0)], STUDY)
    found = stated(study, "suites_without_tls")
    assert found["every"].value == pytest.approx(16 / math.sqrt(20 * 40), rel=0.01)
    ends = [(name, round(ratio.value, 1)) for name, ratio in found["ends"]]
    assert ends == [("AES256-SHA256", 0.4), ("AES128-GCM-SHA256", 0.8)]
    assert found["connections"]["RSA"].value == pytest.approx(10, rel=0.01)
    # It has no place among the suites.
    table = next(table for table in study.tables if table.id.startswith("suites"))
    assert len(table.rows) == 2
    # Where the generator was the limit without TLS, the cost of a request decides.
    limited = without_tls(16.0, 62.0, lower_bounds=(OPEN_REQUESTS,))
    found = stated(additions([*suites, limited], STUDY), "suites_without_tls")
    assert found["estimate"] == OPEN_SERVER_COST
    assert found["every"].value > 1
    assert not stated(additions(suites, STUDY), "suites_without_tls")


def test_memory_is_compared_and_bytes_are_those_of_http() -> None:
    def with_memory(made: Measured, megabytes: float) -> Measured:
        rates = made.values[OPEN_REQUESTS]
        values = {
            **made.values,
            OPEN_MEMORY: {block: megabytes * (1e6 + block) for block in rates},
            OPEN_BYTES: {block: 4200 * rate for block, rate in rates.items()},
        }
        return Measured(made.summary, values)

    cells = [with_memory(cell(name, 20.0, 620.0), mb) for name, mb in MEMORY_MB.items()]
    found = stated(additions(cells, STUDY), "suites_memory")
    assert found["within"] == pytest.approx(0.10, abs=0.01)
    assert found["bytes"] == pytest.approx([4200, 4200])


MEMORY_MB = {"AES128-GCM-SHA256": 20.0, "AES256-GCM-SHA384": 20.0, "AES256-SHA256": 22.0}


def test_the_sentences_of_a_run(study: Additions) -> None:
    text = "".join(f"{code}\n{text}\n\n" for code, text in said(study).items())
    assert text == (Path(__file__).parent / "golden" / "suites.txt").read_text("utf-8")
