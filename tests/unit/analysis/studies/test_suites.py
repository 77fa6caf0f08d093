"""The suites study: orders with ties, Diffie-Hellman sizes, correlation with a published order."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tlslab.analysis.compare import Measured
from tlslab.analysis.published_figures import load_order, load_study
from tlslab.analysis.stats.estimate import estimate
from tlslab.analysis.stats.families import false_discovery
from tlslab.analysis.studies.suites import SuitesStudy, suites_study
from tlslab.analysis.studies.suites.answers import fastest
from tlslab.analysis.studies.suites.diffie_hellman import (
    Load,
    handshake_share,
    keep_alive_bound,
    sizes,
)
from tlslab.analysis.studies.suites.orders import (
    correlation_with,
    order_correlation,
    ranks,
    tau_bounds,
)
from tlslab.analysis.studies.suites.places import (
    HANDSHAKE,
    KEEP_ALIVE,
    KEEP_ALIVE_REQUEST_COST,
    family,
    places,
    short_name,
)
from tlslab.model.finding import CellSummary, Note
from tlslab.model.names import find_suite

STUDY = load_order("rwserve-2019")
# Fewer than a bootstrap needs, so that the tests are quick.
BLOCKS = 7

# Microseconds of the server for a request and for a new connection, of the size that nginx has.
REQUEST_US = {"GCM": 20.0, "CCM": 24.0, "CHACHA20": 26.0, "SHA": 30.0}
CONNECTION_US = {"ECDHE-ECDSA": 300.0, "ECDHE-RSA": 800.0, "DHE-RSA": 1500.0, "RSA": 620.0}
DH_US = {1024: 1050.0, 2048: 1500.0, 3072: 2500.0, 4096: 4000.0}


def cell(
    openssl: str,
    request_us: float,
    connection_us: float,
    bits: int | None = None,
    noise: float = 0.003,
    **changes: object,
) -> Measured:
    suite = find_suite(openssl)
    assert suite is not None
    factors = {"tls": "1.2", "suite": suite.name, "http": "2", "dh_bits": str(bits or "none")}
    key = ",".join(f"{name}={level}" for name, level in factors.items())
    draw = np.random.default_rng(sum(key.encode()))
    values: dict[str, Mapping[int, float]] = {}
    for name, centre in (
        (KEEP_ALIVE, 1e6 / request_us),
        (KEEP_ALIVE_REQUEST_COST, request_us),
        (HANDSHAKE, connection_us),
    ):
        values[name] = {block: centre * math.exp(draw.normal(0, noise)) for block in range(BLOCKS)}
    summary = CellSummary(
        key=key,
        factors=factors,
        verdict="valid",
        reasons=(),
        trials=BLOCKS,
        estimates={name: estimate(list(v.values()), "") for name, v in values.items()},
    )
    return Measured(replace(summary, **changes), values)  # type: ignore[arg-type]


def request_us(name: str) -> float:
    return next(cost for part, cost in REQUEST_US.items() if part in name)


def all_cells() -> list[Measured]:
    assert STUDY is not None
    cells = []
    for name in (*STUDY.order, "ECDHE-ECDSA-AES128-GCM-SHA256"):
        suite = find_suite(name)
        assert suite is not None
        exchange = suite.name.removeprefix("TLS_").partition("_WITH_")[0].replace("_", "-")
        bits = 2048 if exchange == "DHE-RSA" else None
        cells.append(cell(name, request_us(name), CONNECTION_US[exchange], bits))
    cells += [
        cell("DHE-RSA-AES128-GCM-SHA256", request_us("GCM"), cost, bits)
        for bits, cost in DH_US.items()
        if bits != 2048
    ]
    return cells


@pytest.fixture(scope="module")
def study() -> SuitesStudy:
    return suites_study(all_cells(), STUDY)


def reported(study: SuitesStudy, code: str) -> str:
    return "\n".join(finding.text for finding in study.findings if finding.code == code)


def test_the_published_order_has_the_23_suites_of_three_families() -> None:
    assert STUDY is not None
    assert len(STUDY.order) == 23
    names = [find_suite(name) for name in STUDY.order]
    exchanges = [suite.name.partition("_WITH_")[0] for suite in names if suite]
    assert [exchanges.count(f"TLS_{e}") for e in ("ECDHE_RSA", "RSA", "DHE_RSA")] == [6, 8, 9]
    assert round(STUDY.spread, 2) == 1.39
    assert load_study("rwserve-2019") is None
    assert load_order("domino-2021") is None


def test_each_suite_stands_once_with_the_usual_size(study: SuitesStudy) -> None:
    (place,) = places(all_cells())
    assert len(place.usual) == 24
    assert {c.summary.factors["dh_bits"] for c in place.usual} == {"none", "2048"}
    table = next(table for table in study.tables if table.id.startswith("suites"))
    assert len(table.rows) == 24
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_suites_that_cannot_be_told_apart_share_a_rank(study: SuitesStudy) -> None:
    (place,) = places(all_cells())
    found = ranks(place.usual, KEEP_ALIVE)
    by_name = {short_name(c): found[c.summary.key] for c in place.usual}
    assert by_name["AES128-GCM-SHA256"] == "1–7"
    assert by_name["AES256-SHA256"] not in ("1", "1=")
    assert re.search(
        r"cannot be distinguished from the best: a difference of up to [\d.]+ % stays open",
        reported(study, f"suites_{KEEP_ALIVE}"),
    )
    assert " is first with " in reported(study, f"suites_{KEEP_ALIVE}")


def test_a_suite_is_best_only_where_that_is_established() -> None:
    fast, slow = cell("AES128-GCM-SHA256", 20.0, 620.0), cell("AES256-SHA256", 30.0, 620.0)
    equal = cell("AES256-GCM-SHA384", 20.0, 620.0)
    said = []
    for cells in ([fast, slow], [fast, equal, slow]):
        (place,) = places(cells)
        found = fastest(place, KEEP_ALIVE)
        assert found is not None
        said.append(found.text)
    assert "AES128-GCM-SHA256 is best with " in said[0]
    assert " is first with " in said[1]


def test_bars_are_grouped_by_family_best_first(study: SuitesStudy) -> None:
    keep_alive = next(f for f in study.figures if "keep-alive-requests" in f.id)
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
    handshake = next(f for f in study.figures if "cpu-us-per-connection" in f.id)
    assert list(handshake.series[3].y) == sorted(y or 0 for y in handshake.series[3].y)
    assert len({figure.id for figure in study.figures}) == len(study.figures)


def test_the_size_makes_handshakes_dear_and_leaves_requests_alone(study: SuitesStudy) -> None:
    handshake, keep_alive = reported(study, "dh_handshake"), reported(study, "dh_keep_alive")
    assert "with 1024 bits 0.70" in handshake
    assert "with 4096 bits 2.6" in handshake
    assert "no difference of 1 % or more is established" in keep_alive
    share = reported(study, "dh_share")
    assert "requests differ by at most 0.5 %" in share
    assert "has another cause here" in share
    table = next(table for table in study.tables if table.id.startswith("dh"))
    assert [row[1] for row in table.rows] == [1024, 2048, 3072, 4096]


def test_a_real_difference_between_sizes_is_reported() -> None:
    cells = all_cells()
    slow = cell("DHE-RSA-AES128-GCM-SHA256", request_us("GCM") * 1.3, DH_US[1024], 1024)
    cells = [slow if c.summary.key == slow.summary.key else c for c in cells]
    study = suites_study(cells, STUDY)
    assert "a difference is detected with 1024 bits (" in reported(study, "dh_keep_alive")
    assert "seen again" in reported(study, "dh_share")


DHE = "DHE-RSA-AES128-GCM-SHA256"


def of_sizes(request_us: Mapping[int, float]) -> list[Measured]:
    """One suite at these sizes, by the microseconds of a request, with hardly any noise."""
    return [cell(DHE, cost, DH_US[bits], bits, 0.0005) for bits, cost in request_us.items()]


@pytest.mark.parametrize("ratio", [0.994, 1.006])
def test_a_difference_that_matters_to_nobody_is_none_in_both_sentences(ratio: float) -> None:
    cells = of_sizes({1024: 20.0 / ratio, 2048: 20.0, 4096: 20.0})
    (place,) = places(cells)
    small = sizes(place, Load(128, 10, 1))[DHE][0].keep_alive
    assert small is not None
    assert small.differs
    found = suites_study(cells, STUDY)
    assert "no difference of 1 % or more is established" in reported(found, "dh_keep_alive")
    share = reported(found, "dh_share")
    assert re.search(r"requests differ by at most 0\.\d % \(95 %\)", share)
    assert "seen again" not in share
    assert "refuted" not in share


def test_the_bound_of_sizes_is_never_said_to_be_less() -> None:
    for noise in np.linspace(0.02, 0.04, 10).tolist():
        cells = [cell(DHE, 20.0, DH_US[bits], bits, noise) for bits in (1024, 2048, 4096)]
        (place,) = places(cells)
        bound = keep_alive_bound(sizes(place, Load(128, 10, 1))[DHE])
        assert bound is not None
        text = reported(suites_study(cells, STUDY), "dh_keep_alive")
        said = re.search(r"any there is lies within (\d+) %\.$", text)
        assert said is not None
        assert 100 * bound <= int(said[1])


def test_a_size_without_a_valid_result_is_named_and_not_compared() -> None:
    first, *others = of_sizes(dict.fromkeys((1024, 2048, 4096), 20.0))
    invalid = Measured(replace(first.summary, verdict="invalid"), first.values)
    found = suites_study([invalid, *others], STUDY)
    for code in ("dh_handshake", "dh_keep_alive"):
        text = reported(found, code)
        assert text.endswith("; 1024 bits: no valid result.")
        assert text.count("1024") == 1
    share = reported(found, "dh_share")
    assert "1024" not in share
    assert share.endswith("they are none of it.")
    table = next(table for table in found.tables if table.id.startswith("dh"))
    assert table.rows[0][3] == table.rows[0][5] == "not comparable"
    assert table.rows[0][6] is None


def test_the_size_that_others_are_compared_with_is_named() -> None:
    found = suites_study(of_sizes({4096: 20.0, 3072: 20.0}), STUDY)
    assert "against 3072 bits" in reported(found, "dh_handshake")
    assert "against 3072 bits" in reported(found, "dh_keep_alive")
    captions = [table.caption for table in found.tables]
    captions += [figure.caption for figure in found.figures]
    assert sum("DHE with 3072 bits." in caption for caption in captions) == 4
    assert any("Ratios to 3072 bits" in caption for caption in captions)
    texts = [*captions, *(finding.text for finding in found.findings)]
    assert not any("2048" in text for text in texts)
    (alone,) = places([cell("AES128-SHA", 20.0, 300.0)])
    assert alone.dhe_words == ""


def test_the_share_of_handshakes_is_arithmetic() -> None:
    one = cell("DHE-RSA-AES128-GCM-SHA256", 20.0, 1520.0, 2048, noise=0.0)
    share = handshake_share(one, Load(connections=128, seconds=10, processors=1))
    assert share is not None
    assert share.value == pytest.approx(128 * 1500e-6 / 10)
    halved = handshake_share(one, Load(connections=128, seconds=10, processors=2))
    assert halved is not None
    assert halved.value == pytest.approx(share.value / 2)


def test_orders_are_compared_by_tau() -> None:
    cells = all_cells()
    mine = sorted(cells[:23], key=lambda c: c.summary.estimates[KEEP_ALIVE].value, reverse=True)
    tau = correlation_with(cells[:23], KEEP_ALIVE, [short_name(c) for c in mine])
    assert tau is not None
    assert tau.value == pytest.approx(1)
    assert tau.n == 23
    backwards = correlation_with(cells[:23], KEEP_ALIVE, [short_name(c) for c in reversed(mine)])
    assert backwards is not None
    assert backwards.value == pytest.approx(-1)
    assert tau.low is not None
    assert tau.low <= tau.value
    both = order_correlation(cells[:23], KEEP_ALIVE, HANDSHAKE)
    assert both is not None
    assert -1 < both.value < 0.9
    assert correlation_with(cells[:3], KEEP_ALIVE, [short_name(c) for c in cells]) is None


def test_all_sizes_are_one_family() -> None:
    """Six ratios at 5 % each would find a false difference in a quarter of the runs."""
    (place,) = places(all_cells())
    rows = [row for each in sizes(place, Load(128, 10, 1)).values() for row in each]
    found = [c for row in rows for c in (row.handshake, row.keep_alive) if c is not None]
    assert len(found) >= 6
    p = [each.p for each in found if each.p is not None]
    assert [each.adjusted_p for each in found] == pytest.approx(false_discovery(p))


def test_undecided_pairs_may_be_either() -> None:
    one = {(0, 1): 1, (0, 2): 1, (1, 2): -1}
    assert tau_bounds(3, one, one) == (1.0, 1.0)
    assert tau_bounds(3, one, {(0, 1): -1, (0, 2): 1}) == pytest.approx((-1 / 3, 1 / 3))
    assert tau_bounds(3, {}, one) == (-1.0, 1.0)


@pytest.mark.parametrize(("spread", "blocks"), [(0.10, 6), (0.03, 6), (0.10, 2)], ids=str)
def test_bounds_of_tau_hold_that_of_the_true_rates(spread: float, blocks: int) -> None:
    """A bootstrap over blocks held 14 to 77 % of these."""
    draw = np.random.default_rng(1)
    true = draw.normal(0, spread, 23)
    other = 0.7 * true + 0.5 * draw.normal(0, spread, 23)
    tau = stats.kendalltau(true, -other).statistic
    held = 0
    for _ in range(30):
        cells = [
            drawn(f"s{i}", {KEEP_ALIVE: a, HANDSHAKE: b}, blocks, draw)
            for i, (a, b) in enumerate(zip(true, -other, strict=True))
        ]
        found = order_correlation(cells, KEEP_ALIVE, HANDSHAKE)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high
        # Of the rate the most is best, of the cost the least.
        held += bool(found.low <= -tau <= found.high)
    assert held >= 27


def drawn(key: str, logs: dict[str, float], blocks: int, draw: np.random.Generator) -> Measured:
    """A cell whose values have noise of 5 %."""
    values = {
        name: dict(enumerate(np.exp(log + draw.normal(0, 0.05, blocks)).tolist()))
        for name, log in logs.items()
    }
    return Measured(CellSummary(key, {"suite": key}, "valid", (), blocks, {}), values)


def test_what_is_found_about_orders_names_its_cells_and_is_no_warning(study: SuitesStudy) -> None:
    codes = {"suites_two_orders", "suites_beside_the_study"}
    found = [finding for finding in study.findings if finding.code in codes]
    assert {finding.code for finding in found} == codes
    assert all(finding.cells for finding in found)


def test_the_study_is_beside_ours_only_where_it_applies(study: SuitesStudy) -> None:
    assert "Kendall's tau" in reported(study, "suites_beside_the_study")
    assert "1.39" in reported(study, "suites_beside_the_study")
    assert "chosen by the same measurements" in reported(study, "suites_beside_the_study")
    other = [
        Measured(replace(c.summary, factors={**c.summary.factors, "http": "1.1"}), c.values)
        for c in all_cells()
    ]
    assert reported(suites_study(other, STUDY), "suites_beside_the_study") == ""
    assert len(suites_study([*all_cells(), *other], STUDY).tables) == 6


def test_where_the_generator_was_the_limit_the_cost_of_a_request_decides() -> None:
    cells = [
        Measured(replace(c.summary, lower_bounds=(KEEP_ALIVE,)), c.values) for c in all_cells()
    ]
    (place,) = places(cells)
    assert place.keep_alive == KEEP_ALIVE_REQUEST_COST
    study = suites_study(cells, STUDY)
    assert reported(study, f"suites_{KEEP_ALIVE_REQUEST_COST}")
    assert "here it is 1.5" in reported(study, "suites_beside_the_study")
    assert "no difference of 1 % or more is established" in reported(study, "dh_keep_alive")


def test_a_refused_suite_keeps_its_reason() -> None:
    cells = all_cells()
    note = Note("unsupported", "the server sent the alert handshake_failure")
    refused = replace(cells[8].summary, verdict="unsupported", reasons=(note,), estimates={})
    cells[8] = Measured(refused, {})
    study = suites_study(cells, STUDY)
    assert "AES128-CCM (the server sent the alert" in reported(study, "suites_unsupported")
    table = next(table for table in study.tables if table.id.startswith("suites"))
    row = next(row for row in table.rows if row[0] == "AES128-CCM")
    assert "handshake_failure" in str(row[1])
    assert len(row) == len(table.columns)


def test_without_keep_alive_runs_handshakes_are_still_reported() -> None:
    cells = [
        Measured(
            replace(c.summary, estimates={HANDSHAKE: c.summary.estimates[HANDSHAKE]}),
            {HANDSHAKE: c.values[HANDSHAKE]},
        )
        for c in all_cells()
    ]
    study = suites_study(cells, None)
    assert reported(study, f"suites_{HANDSHAKE}")
    assert not any("keep-alive" in figure.id for figure in study.figures)


def test_families_are_key_exchange_and_certificate() -> None:
    names = {"AES128-SHA": "RSA", "DHE-RSA-AES128-SHA": "DHE-RSA"}
    for name, expected in names.items():
        assert family(cell(name, 1.0, 1.0)) == expected


def test_suites_without_a_bar_are_named() -> None:
    first, *others = all_cells()
    bound = Measured(replace(first.summary, lower_bounds=(KEEP_ALIVE,)), first.values)
    found = {figure.id: figure.caption for figure in suites_study([bound, *others], STUDY).figures}
    said = f"Not drawn, being lower bounds or not valid: {short_name(first)}."
    assert {id_ for id_, caption in found.items() if said in caption} == {
        id_ for id_ in found if "keep-alive-requests" in id_
    }
    whole = suites_study(all_cells(), STUDY)
    assert not any("Not drawn" in figure.caption for figure in whole.figures)
