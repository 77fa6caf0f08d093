"""Two runs laid over each other: known ratios must come out."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from factories.benchmarks import made_contents
from factories.capacity import CapacityWorld, Uneven, made_capacity_run, made_plan
from factories.run import SERVER_US, World, made_run
from factories.selftest import made_selftest
from factories.worded import answered, overlay, summarise
from factories.worded import summarise as summarise_capacity
from tlslab.analysis.gate import gate
from tlslab.analysis.overlay import Side
from tlslab.analysis.overlay.differences import answer as opening
from tlslab.analysis.overlay.tables_and_figures import verdict_words
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.errors import UsageError
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    OPEN_CLIENT_COST,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
    estimate_name,
)
from tlslab.domain.finding import CellSummary, Comparison, ComparisonVerdict, Summary
from tlslab.domain.workload import KeepAlive, Window
from tlslab.experiment import load, with_levels

pytestmark = pytest.mark.slow


@pytest.fixture(name="capacity_runs", scope="module")
def _capacity_runs() -> tuple[Side, Side]:
    slow = made_capacity_run({"nginx 1": CapacityWorld(), "nginx 2": CapacityWorld(alone=1700.0)})
    fast = made_capacity_run(
        {"apache 1": CapacityWorld(alone=1800.0), "apache 2": CapacityWorld(alone=3400.0, seed=7)}
    )
    return Side("old", summarise_capacity(slow)), Side("new", summarise_capacity(fast))


def ratio(summary: Summary, name: str, number: int = 0) -> float:
    return [c for c in summary.comparisons if c.estimate == name][number].ratio


def test_runs_of_one_server_each_are_two_platforms(capacity_runs: tuple[Side, Side]) -> None:
    found = overlay(*capacity_runs)
    assert ratio(found, "connections_per_s") == pytest.approx(2, rel=0.03)
    assert ratio(found, "connections_per_s", 1) == pytest.approx(2, rel=0.03)
    assert {c.verdict for c in found.comparisons if c.estimate == "connections_per_s"} == {"faster"}
    search = next(figure for figure in found.figures if figure.id == "search")
    sides = {series.name.partition(":")[0] for series in search.series}
    assert sides == {"old", "new"}
    ids = [figure.id for figure in found.figures]
    assert len(set(ids)) == len(ids)


def test_it_says_what_differs_and_what_rates_mean(capacity_runs: tuple[Side, Side]) -> None:
    found = overlay(*capacity_runs)
    differences = next(table for table in found.tables if table.id == "differences")
    assert ("levels: server", "nginx", "apache") in differences.rows
    assert "depend on" in found.environment.warnings[0]
    assert found.answer is not None
    # Three repetitions of the maximum.
    assert found.answer.lacking is not None
    assert found.answer.lacking.few


def test_runs_of_unlike_machines_are_called_so() -> None:
    """A gate on such runs compares one machine with the other."""
    run = summarise(made_run(quick=True))
    machine = {**run.environment.machine, "processor": "Another processor"}
    other = replace(run, environment=replace(run.environment, machine=machine))
    same, unlike = (
        overlay(Side("A", run), Side("B", second)).environment.warnings for second in (run, other)
    )
    assert not any("unlike machines" in each for each in same)
    (warning,) = (each for each in unlike if "unlike machines" in each)
    assert "A: A processor" in warning
    assert "; B: Another processor, 2 processors. A difference may be that of the" in warning


def test_matrix_runs_have_bars_of_their_own() -> None:
    faster = {group: us / 1.25 for group, us in SERVER_US.items()}
    sides = [
        Side(name, summarise(made_run(World(server_us=costs), quick=True)))
        for name, costs in (("before", SERVER_US), ("after", faster))
    ]
    found = overlay(sides[0], sides[1])
    assert len({c.candidate for c in found.comparisons}) == 6
    assert ratio(found, "server_cpu_us_per_connection") == pytest.approx(0.8, rel=0.02)
    assert ratio(found, "connections_per_s") == pytest.approx(1.25, rel=0.02)
    assert [figure.kind for figure in found.figures] == ["bars"] * 3
    assert len(found.figures[0].series) == 2


def test_runs_that_cannot_be_compared(capacity_runs: tuple[Side, Side]) -> None:
    matrix = Side("groups", summarise(made_run(quick=True)))
    with pytest.raises(UsageError, match="is a run of groups, "):
        overlay(matrix, capacity_runs[0])


def groups(name: str, seed: int = 1, **slower: float) -> Side:
    costs = {
        group: us * slower.get(group.replace("-", "_"), 1.0) for group, us in SERVER_US.items()
    }
    return Side(name, summarise(made_run(World(server_us=costs, seed=seed), quick=True)))


def test_it_opens_with_what_differs() -> None:
    answer = overlay(groups("old"), groups("new", 2, P_384=1.3)).answer
    assert answer is not None
    assert answer.question == "Does new differ from old?"
    first, second = answer.sentences
    assert re.match(r"\d+ of \d+ ratios differ: ", first)
    assert "new connections/s, P-384: 0.7" in first
    assert "the server's processor time for a new connection, P-384: 1.2" in first
    assert second.startswith("No difference is established in ")


def test_of_equal_runs_nothing_differs() -> None:
    answer = overlay(groups("old"), groups("new", 2)).answer
    assert answer is not None
    assert answer.sentences[0].startswith("No difference is established: new is within ")


def test_an_overlay_has_no_row_for_a_rate_that_repeats_another() -> None:
    found = overlay(groups("old"), groups("new", 2))
    ratios = next(table for table in found.tables if table.id == "ratios")
    measures = [str(row[1]) for row in ratios.rows]
    assert "requests/s" not in measures
    assert "the server's processor time for a new connection, µs" in measures
    assert not any("_" in each for each in measures)


def as_run(base: Summary, rng: np.random.Generator, off: float, noise: float = 0.01) -> Summary:
    """A run whose rates are all off by a factor, with noise of each of ten blocks."""
    cells = []
    for cell in base.cells:
        rates = 1000.0 * off * np.exp(rng.normal(0, noise, 10))
        cells.append(replace(cell, estimates={RATE: estimate(rates.tolist(), "1/s")}))
    return replace(base, cells=tuple(cells))


@pytest.mark.simulation
def test_runs_that_are_off_as_a_whole_do_not_differ() -> None:
    """Each run is off by a factor of its own, as spread as its blocks: neighbours come and go."""
    base, rng = groups("old").summary, np.random.default_rng(5)
    alarms = 0
    for _ in range(200):
        first, second = (
            Side(name, as_run(base, rng, math.exp(rng.normal(0, 0.01)))) for name in ("old", "new")
        )
        alarms += any(each.differs for each in overlay(first, second).comparisons)
    assert alarms <= 18  # 10 are expected at most; 19 or more occur once in 200 runs.


def test_a_ratio_of_two_runs_that_cannot_be_judged_says_that_they_are_two() -> None:
    base, rng = groups("old").summary, np.random.default_rng(5)
    first, second = (Side(n, as_run(base, rng, off)) for n, off in (("a", 1.0), ("b", 1.02)))
    found = overlay(first, second)
    (table,) = [table for table in found.tables if table.id == "ratios"]
    for row in table.rows:
        assert re.fullmatch(
            r"differ by at most \d+ %|cannot tell: two runs, one after the other; they may differ "
            r"by up to \d+ %",
            str(row[-1]),
        )


def with_selftest(summary: Summary, between: float, within: float) -> Summary:
    kept = made_selftest()
    by = tuple(replace(each, between=between, within=within) for each in kept.by)
    where = replace(summary.environment, selftest=replace(kept, by=by))
    return replace(summary, environment=where)


@pytest.mark.parametrize(
    ("between", "within", "differs"),
    [(0.001, 0.01, True), (0.02, 0.01, False), (0.003, 0.001, False)],
)
def test_the_self_test_says_how_far_runs_are_apart(
    between: float, within: float, differs: bool
) -> None:
    """A difference of 3 %; blocks ten times as noisy as the self-test's count ten times as much."""
    base, rng = groups("old").summary, np.random.default_rng(5)
    first, second = (
        Side(n, with_selftest(as_run(base, rng, off), between, within))
        for n, off in (("a", 1.0), ("b", 1.03))
    )
    found = overlay(first, second).comparisons
    assert {each.differs for each in found} == {differs}
    assert all("by the self-test" in each.method for each in found)
    one = overlay(first, Side("b", as_run(base, rng, 1.03))).comparisons
    assert all("by that of the blocks" in each.method for each in one)


def test_amounts_that_are_equal_are_no_rows() -> None:
    first, second = groups("old"), groups("new", 2)
    name = "wire_bytes_per_handshake"
    fewer = Side("new", scaled(second.summary, name, 1132 / 1133))
    found = overlay(first, fewer)
    assert {c.verdict for c in found.comparisons if c.estimate == name} == {"equivalent"}
    (table,) = [table for table in found.tables if table.id == "ratios"]
    assert not any("bytes of a handshake" in str(row[1]) for row in table.rows)
    half = overlay(first, Side("new", scaled(second.summary, name, 0.5)))
    assert {c.verdict for c in half.comparisons if c.estimate == name} == {"less"}
    (table,) = [table for table in half.tables if table.id == "ratios"]
    assert any("bytes of a handshake" in str(row[1]) for row in table.rows)


RATE = "connections_per_s"
DEAD = "P-256"


@pytest.fixture(name="base", scope="module")
def _base() -> Summary:
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", DEAD)}
    experiment = replace(with_levels(load("groups"), few), stopping=None, blocks=5)
    return summarise(made_run(World(noise=0.005), experiment=experiment))


def with_dead(summary: Summary, change: dict[str, Any]) -> Summary:
    """The run with another summary of the cell of P-256."""
    cells = [
        replace(cell, **change) if cell.factors["group"] == DEAD else cell for cell in summary.cells
    ]
    return replace(summary, cells=tuple(cells))


def gated(first: Summary, second: Summary) -> tuple[str, list[Comparison]]:
    """The verdict of a wide gate, and what keeps it open beside the server's time."""
    found = gate(overlay(Side("A", first), Side("B", second)).comparisons, 0.2)
    return found.verdict, [each for each in found.undecided if each.estimate != SERVER_COST]


FAILED: dict[str, Any] = {"verdict": "failed", "estimates": {}}
UNSUPPORTED: dict[str, Any] = {"verdict": "unsupported", "estimates": {}}


@pytest.mark.parametrize("change", [FAILED, UNSUPPORTED])
def test_a_cell_that_died_in_one_run_keeps_the_gate_open(
    base: Summary, change: dict[str, Any]
) -> None:
    assert gated(base, base) == ("passed", [])
    dead = with_dead(base, change)
    for first, second, side in ((base, dead, "second"), (dead, base, "first")):
        verdict, (bare,) = gated(first, second)
        assert (verdict, bare.n, bare.verdict) == ("cannot_tell", 0, "cannot_tell")
        assert bare.method == f"the {side} run has no value ({change['verdict']})"
        found = overlay(Side("A", first), Side("B", second))
        assert not any(DEAD in str(row) for table in found.tables for row in table.rows)


def test_a_cell_that_failed_in_both_stays_open_one_unsupported_in_both_does_not(
    base: Summary,
) -> None:
    dead, unsupported = with_dead(base, FAILED), with_dead(base, UNSUPPORTED)
    assert gated(dead, dead)[0] == "cannot_tell"
    assert gated(unsupported, unsupported) == ("passed", [])


def test_a_rate_of_nothing_keeps_the_gate_open(base: Summary) -> None:
    nothing = Estimate(0.0, 0.0, 0.0, 5, "1/s", "")
    verdict, (bare,) = gated(base, with_dead(base, {"estimates": {RATE: nothing}}))
    assert (verdict, bare.n) == ("cannot_tell", 0)


def test_a_cell_of_one_run_alone_keeps_the_gate_open(base: Summary) -> None:
    def lives(cell: CellSummary) -> bool:
        return cell.factors["group"] != DEAD

    fewer = replace(base, cells=tuple(filter(lives, base.cells)))
    for first, second, side in ((base, fewer, "second"), (fewer, base, "first")):
        verdict, (bare,) = gated(first, second)
        assert (verdict, bare.method) == ("cannot_tell", f"the {side} run has no such cell")


BOUND: dict[str, Any] = {"lower_bounds": (RATE,)}


def test_a_rate_that_no_side_limited_keeps_the_gate_open(base: Summary) -> None:
    """The ratio is not one of the servers."""
    verdict, (bare,) = gated(base, with_dead(base, {"unsaturated": (RATE,)}))
    assert (verdict, bare.verdict, bare.n > 0) == ("cannot_tell", "not_comparable", True)


def test_a_lower_bound_on_one_side_decides_in_its_direction(base: Summary) -> None:
    bounded = with_dead(base, BOUND)
    assert gated(base, bounded) == ("passed", [])
    assert gated(bounded, base) == ("cannot_tell", [])
    verdict, (bare,) = gated(bounded, bounded)
    assert (verdict, bare.verdict, bare.bounded) == ("cannot_tell", "not_comparable", None)


@pytest.mark.parametrize("change", [FAILED, BOUND])
def test_an_overlay_counts_ratios_that_cannot_be_judged(
    base: Summary, change: dict[str, Any]
) -> None:
    dead = with_dead(base, change)
    answer = overlay(Side("A", base), Side("B", dead)).answer
    assert answer is not None
    first, second = answer.sentences
    words = "No difference is established in what can be judged: B is within "
    assert first.startswith(words)
    count = int(second.partition(" ")[0])
    assert second == (
        f"{count} ratio{'' if count == 1 else 's'} cannot be judged: lower bounds, searches "
        "that were inconclusive or disturbed, no valid result, or another way to measure."
    )
    assert (count == 1) == (change != FAILED)
    same = overlay(Side("A", base), Side("B", base)).answer
    assert same is not None
    assert len(same.sentences) == 1
    assert same.sentences[0].startswith("No difference is established: B is within ")


def test_ratios_that_cannot_be_judged_stand_beside_those_that_differ(base: Summary) -> None:
    slower = World(noise=0.005, server_us={**SERVER_US, "X25519": SERVER_US["X25519"] * 1.3})
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", DEAD)}
    experiment = replace(with_levels(load("groups"), few), stopping=None, blocks=5)
    second = with_dead(summarise(made_run(slower, experiment=experiment)), FAILED)
    answer = overlay(Side("A", base), Side("B", second)).answer
    assert answer is not None
    assert len(answer.sentences) == 2
    assert "X25519" not in answer.sentences[1]
    assert "cannot be judged" in answer.sentences[1]


FIVE = made_plan(repetitions=5)


def capacity(name: str, world: CapacityWorld) -> Side:
    return Side(name, summarise_capacity(made_capacity_run({"nginx": world}, FIVE)))


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (Uneven(alone=1800.0), "the search for the maximum was inconclusive (noise)"),
        (
            CapacityWorld(alone=1800.0, busy=0.8, taken=0.2),
            "other programs took a part of the server's processor",
        ),
        (CapacityWorld(alone=1800.0, client_us=600.0), "the generator was the limit"),
    ],
)
def test_a_maximum_that_is_not_known_never_differs_and_its_ratio_says_why(
    world: CapacityWorld, why: str
) -> None:
    """A server that takes twice the connections, measured by a search that does not know this."""
    known, other = capacity("old", CapacityWorld(seed=2)), capacity("new", world)
    for first, second in ((known, other), (other, known)):
        found = overlay(first, second)
        rests = [c for c in found.comparisons if c.estimate == RATE or "_at_" in c.estimate]
        rests = [c for c in rests if c.n]  # the other run may have no response times
        assert RATE in {c.estimate for c in rests}
        assert len(rests) > 1 or "generator" in why
        assert {c.verdict for c in rests} == {"not_comparable"}
        assert {c.method for c in rests} == {f"not comparable: new: {why}"}
        (table,) = [table for table in found.tables if table.id == "ratios"]
        words = {str(row[-1]) for row in table.rows if str(row[1]).startswith("new connections")}
        assert f"not comparable: new: {why}" in words
        assert found.answer is not None
        assert not any("new connections/s" in each for each in found.answer.sentences)
        bare = [each.method for each in gate(found.comparisons, 0.03, (RATE,)).undecided]
        assert bare == [f"not comparable: new: {why}"]
    same = overlay(replace(other, name="one"), replace(other, name="two")).comparisons
    assert {c.method for c in same if c.estimate == RATE} == {f"not comparable: one and two: {why}"}


def test_maxima_that_are_known_differ() -> None:
    found = overlay(
        capacity("old", CapacityWorld(seed=2)), capacity("new", CapacityWorld(alone=1800.0))
    )
    (rate,) = [c for c in found.comparisons if c.estimate == RATE]
    assert (rate.verdict, rate.method.startswith("two runs, one after")) == ("faster", True)


@pytest.mark.parametrize(
    ("missing", "which"), [(0, "Every ratio"), (1, "Every ratio that can be judged")]
)
def test_only_ratios_that_can_be_judged_differ_everywhere(missing: int, which: str) -> None:
    found = Comparison("", "", RATE, 0.8, 0.78, 0.82, 5, "", "slower", may_differ=0.28)
    bare = opening(("A", "B"), [("", found)], "", (), missing)
    first, *rest = answered(bare, "comparison").sentences
    assert first.startswith(f"{which} differs: new connections/s: 0.80 times")
    assert len(rest) == missing


@pytest.mark.parametrize(
    ("verdict", "left", "words"),
    [
        ("cannot_tell", 0.123, "cannot tell: they may differ by up to 13 %"),
        ("cannot_tell", None, "cannot tell"),
        ("equivalent", 0.034, "differ by at most 4 %"),
        ("not_comparable", 0.5, "not comparable: B: a lower bound"),
        ("slower", 0.5, "slower"),
    ],
)
def test_a_verdict_in_words_says_what_is_left_open(
    verdict: ComparisonVerdict, left: float | None, words: str
) -> None:
    method = "not comparable: B: a lower bound"
    found = Comparison("a", "b", RATE, 1.0, None, None, 5, method, verdict, may_differ=left)
    assert verdict_words(found) == words


@pytest.fixture(name="kept_open", scope="module")
def _kept_open() -> Summary:
    """New connections, and requests on connections kept open."""
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", DEAD)}
    experiment = with_levels(load("groups"), few)
    workload = replace(experiment.workload, keep_alive=KeepAlive(Window(100, 500), 128))
    experiment = replace(experiment, stopping=None, blocks=5, workload=workload)
    return summarise(made_run(World(noise=0.005), experiment=experiment))


def scaled(summary: Summary, name: str, times: float) -> Summary:
    """The run with one estimate of all its cells larger."""

    def larger(found: Estimate) -> Estimate:
        low, high = (None if end is None else end * times for end in (found.low, found.high))
        return replace(found, value=found.value * times, low=low, high=high)

    cells = [
        replace(cell, estimates={**cell.estimates, name: larger(cell.estimates[name])})
        if name in cell.estimates
        else cell
        for cell in summary.cells
    ]
    return replace(summary, cells=tuple(cells))


@pytest.mark.parametrize(
    "name",
    [
        OPEN_REQUESTS, OPEN_SERVER_COST, OPEN_CLIENT_COST, "handshake_ms_p50",
        "handshake_ms_p99", "wire_bytes_per_handshake", "keep_alive_server_memory_bytes",
    ],
)  # fmt: skip
def test_whatever_a_run_measured_is_compared(kept_open: Summary, name: str) -> None:
    answer = overlay(Side("A", kept_open), Side("B", scaled(kept_open, name, 0.5))).answer
    assert answer is not None
    assert re.match(rf"\d+ of \d+ ratios differ: {estimate_name(name)}, ", answer.sentences[0])


def test_half_the_requests_on_open_connections_stop_a_gate(kept_open: Summary) -> None:
    assert gated(kept_open, kept_open) == ("passed", [])
    assert gated(kept_open, scaled(kept_open, OPEN_REQUESTS, 0.5))[0] == "slower"


def test_open_connections_that_died_keep_the_gate_open(kept_open: Summary) -> None:
    bare = {n: e for n, e in kept_open.cells[0].estimates.items() if n != OPEN_REQUESTS}
    dead = replace(kept_open, cells=(replace(kept_open.cells[0], estimates=bare),))
    one = replace(kept_open, cells=kept_open.cells[:1])
    for first, second in ((one, dead), (dead, one)):
        verdict, (open_,) = gated(first, second)
        assert (verdict, open_.estimate) == ("cannot_tell", OPEN_REQUESTS)


@pytest.fixture(name="benchmark", scope="module")
def _benchmark() -> Summary:
    return summarise(made_contents())


def test_benchmarks_are_compared_by_rate_times_and_both_costs(benchmark: Summary) -> None:
    slower = scaled(benchmark, "operations_per_s", 0.5)
    found = overlay(Side("A", benchmark), Side("B", slower))
    assert {each.estimate for each in found.comparisons} == {
        "operations_per_s", "operation_ms_p50", "operation_ms_p99", "client_cpu_us_per_operation",
        "signers_cpu_us_per_operation",
    }  # fmt: skip
    assert found.answer is not None
    assert re.match(r"\d+ of \d+ ratios differ: operations/s, ", found.answer.sentences[0])
    assert gate(found.comparisons, 0.2).verdict == "slower"


def test_loads_that_have_a_figure_alone_keep_no_gate_open(benchmark: Summary) -> None:
    assert any("fault" in cell.factors for cell in benchmark.cells)
    assert gated(benchmark, benchmark) == ("passed", [])
    found = overlay(Side("A", benchmark), Side("B", benchmark))
    assert all(each.n for each in found.comparisons)


def test_the_method_names_what_is_compared(kept_open: Summary) -> None:
    method = " ".join(overlay(Side("A", kept_open), Side("B", kept_open)).method)
    assert "p50 and p99 of handshakes" in method
