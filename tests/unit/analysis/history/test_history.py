"""Histories with known changes: which are found, which are in force, which runs are kept apart."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from factories.history import made_runs
from tlslab.analysis.history import LEAST_RUNS, Run, history
from tlslab.analysis.history.run_history import welch
from tlslab.domain.errors import StoreError
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_REQUESTS, OPEN_SERVER_COST
from tlslab.domain.history import CellHistory, EstimateChange, History
from tlslab.words.history import headline, reason

RATE = "connections_per_s"
COST = "server_cpu_us_per_connection"
LABEL = "TLS 1.3, ECDSA P-256, P-256"


def of(found: History, group: str, estimate: str = RATE) -> CellHistory:
    return next(c for c in found.cells if c.label.endswith(group) and c.estimate == estimate)


def only(series: CellHistory) -> EstimateChange:
    (change,) = series.changes
    return change


def stepped(*steps: tuple[float, int], seed: int = 1) -> list[Run]:
    return made_runs({"X25519": [slower for slower, runs in steps for _ in range(runs)]}, seed=seed)


def test_a_slowdown_is_found_between_its_runs_with_its_size() -> None:
    found = history(stepped((1.0, 8), (1.1, 7)))
    for estimate, ratio in ((RATE, 1 / 1.1), (COST, 1.1)):
        change = only(of(found, "X25519", estimate))
        assert (change.before, change.after, change.index) == ("run-07", "run-08", 8)
        assert (change.n_before, change.n_after) == (8, 7)
        assert change.ratio == pytest.approx(ratio, rel=0.015)
        assert change.low is not None
        assert change.high is not None
        assert change.low < change.ratio < change.high
        assert (change.verdict, change.in_force) == ("slower", True)
    assert found.verdict == "slower"
    assert of(found, "P-256").changes == ()


def test_levels_are_those_of_the_segments() -> None:
    series = of(history(stepped((1.0, 8), (1.1, 7))), "X25519")
    assert [(level.first, level.last) for level in series.levels] == [(0, 7), (8, 14)]
    assert [level.value for level in series.levels] == pytest.approx([1000, 909], rel=0.02)


def test_runs_are_put_in_the_order_of_their_start() -> None:
    runs = stepped((1.0, 8), (1.1, 7))
    mixed = random.Random(3).sample(runs, len(runs))
    assert history(mixed) == history(runs)


def test_an_improvement_is_no_slowdown() -> None:
    found = history(stepped((1.1, 8), (1.0, 8)))
    assert only(of(found, "X25519")).verdict == "faster"
    assert found.verdict == "not_slower"


def test_a_slowdown_that_was_undone_is_not_in_force() -> None:
    found = history(stepped((1.0, 8), (1.1, 8), (1.0, 8)))
    first, second = of(found, "X25519").changes
    assert (first.verdict, first.in_force) == ("slower", False)
    assert (second.verdict, second.in_force) == ("faster", True)
    assert found.verdict == "not_slower"


@pytest.mark.parametrize(
    ("newest", "in_force", "verdict"),
    [((1.1, 10), True, "slower"), ((0.9, 1), None, "cannot_tell")],
    ids=["undone in part", "one newer run"],
)
def test_a_slowdown_is_in_force_until_newer_runs_undo_it(
    newest: tuple[float, int], in_force: bool | None, verdict: str
) -> None:
    found = history(stepped((1.0, 10), (1.2, 10), newest))
    assert [change.in_force for change in of(found, "X25519").changes] == [in_force] * 2
    assert found.verdict == verdict


def test_a_single_slow_run_at_the_end_has_no_interval_and_cannot_tell() -> None:
    found = history(stepped((1.0, 10), (1.3, 1)))
    change = only(of(found, "X25519"))
    assert (change.low, change.high, change.verdict) == (None, None, "cannot_tell")
    assert change.in_force is None
    assert found.verdict == "cannot_tell"


def test_a_single_fast_run_at_the_end_is_no_slowdown() -> None:
    assert history(stepped((1.3, 10), (1.0, 1))).verdict == "not_slower"


def test_too_few_runs_are_not_judged() -> None:
    few = history(stepped((1.0, 2), (1.5, LEAST_RUNS - 3)))
    assert few.verdict == "cannot_tell"
    assert not any(series.judged or series.changes for series in few.cells)
    enough = history(stepped((1.0, LEAST_RUNS)))
    assert enough.verdict == "not_slower"
    assert all(series.judged for series in enough.cells)


def test_changes_that_are_too_small_do_not_count() -> None:
    runs = made_runs({"X25519": [1.0] * 10 + [1.02] * 10}, noise=0.001)
    assert only(of(history(runs), "X25519")).ratio == pytest.approx(1 / 1.02, rel=0.002)
    assert of(history(runs, smallest=0.05), "X25519").changes == ()


def test_the_step_that_could_have_been_found_grows_with_the_noise() -> None:
    steps = [
        of(history(made_runs({"X25519": [1.0] * 12}, noise=noise)), "P-256").findable
        for noise in (0.01, 0.04)
    ]
    quiet, loud = steps
    assert quiet is not None
    assert loud is not None
    assert quiet < 0.1 < loud


def test_facts_that_differ_are_listed_and_those_of_one_run_are_not() -> None:
    old = {"tlslab": "0.1.0", "machine": {"kernel": "6.1.0", "load_average": 0.1}}
    new = {"tlslab": "0.2.0", "machine": {"kernel": "6.2.0", "load_average": 0.9}}
    runs = made_runs({"X25519": [1.0] * 8 + [1.2] * 8}, facts=[old] * 8 + [new] * 8)
    facts = only(of(history(runs), "X25519")).facts
    assert [(each.fact, each.before, each.after) for each in facts] == [
        ("tlslab", "0.1.0", "0.2.0"),
        ("machine: kernel", "6.1.0", "6.2.0"),
    ]


def test_unlike_machines_have_histories_of_their_own_unless_they_are_joined() -> None:
    slow, fast = ({"machine": {"processor": name, "processors": 2}} for name in ("old", "new"))
    runs = made_runs({"X25519": [1.2, 1.0] * 8}, facts=[slow, fast] * 8)
    apart = history(runs)
    assert {series.history.rpartition("nginx, ")[2] for series in apart.cells} == {
        "old, 2 processors",
        "new, 2 processors",
    }
    assert not any(series.changes for series in apart.cells)
    assert "--across-machines joins them" in apart.warnings[0]
    joined = history(runs, across_machines=True)
    assert len(of(joined, "X25519").values) == 16
    assert "Absolute rates depend on" in joined.warnings[0]


def test_another_workload_or_target_is_another_history() -> None:
    runs = stepped((1.0, 12))
    for number in range(6, 12):
        what = runs[number].summary.experiment
        other = replace(what, workload={**what.workload, "connections": 64})
        runs[number] = Run(f"{number}", replace(runs[number].summary, experiment=other))
    found = history(runs)
    assert len({series.history for series in found.cells}) == 2
    assert {len(series.values) for series in found.cells} == {6}


def test_values_that_are_no_ones_limit_are_left_out() -> None:
    runs = stepped((1.0, 12))
    for number in (3, 4):
        cells = tuple(
            replace(cell, lower_bounds=(RATE,), verdict="at_least")
            for cell in runs[number].summary.cells
        )
        runs[number] = Run(f"{number}", replace(runs[number].summary, cells=cells))
    for number in (5,):
        cells = tuple(replace(cell, verdict="invalid") for cell in runs[number].summary.cells)
        runs[number] = Run(f"{number}", replace(runs[number].summary, cells=cells))
    for number in (6,):
        cells = tuple(replace(c, left_open={RATE: "noise"}) for c in runs[number].summary.cells)
        runs[number] = Run(f"{number}", replace(runs[number].summary, cells=cells))
    found = history(runs)
    assert len(of(found, "X25519").values) == 8
    assert len(of(found, "X25519", COST).values) == 11


def test_a_time_that_cannot_be_read_is_an_error() -> None:
    run = stepped((1.0, 1))[0]
    broken = replace(run.summary, environment=replace(run.summary.environment, created="soon"))
    with pytest.raises(StoreError, match="no time in 'created': 'soon'"):
        history([Run("bad", broken)])


def test_the_interval_needs_two_runs_on_each_side() -> None:
    assert welch(np.array([1.0, 2.0]), np.array([3.0])) is None
    assert welch(np.array([1.0, 1.0]), np.array([3.0, 3.0])) == (2.0, 2.0)
    low, high = welch(np.array([1.0, 1.2, 1.1]), np.array([2.0, 2.2, 2.1])) or (0.0, 0.0)
    assert low < 1.0 < high


def with_estimate(runs: Sequence[Run], name: str, values: Sequence[float]) -> list[Run]:
    """The runs with chosen values of an estimate in all cells, one value per run."""
    found = []
    for run, value in zip(runs, values, strict=True):
        known = Estimate(value, value, value, 5, "", "")
        cells = tuple(
            replace(cell, estimates={**cell.estimates, name: known}) for cell in run.summary.cells
        )
        found.append(Run(run.name, replace(run.summary, cells=cells)))
    return found


def noisy(*steps: tuple[float, int]) -> list[float]:
    draw = np.random.default_rng(3)
    levels = [level for level, count in steps for _ in range(count)]
    return [level * float(np.exp(0.01 * draw.normal())) for level in levels]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (OPEN_REQUESTS, 40_000.0, 30_000.0),
        (OPEN_SERVER_COST, 20.0, 25.0),
        ("handshake_ms_p99", 4.0, 5.0),
        ("operations_per_s", 500.0, 400.0),
        ("signers_cpu_us_per_operation", 900.0, 1100.0),
    ],
)
def test_whatever_a_run_measured_has_a_history(name: str, before: float, after: float) -> None:
    values = noisy((before, 8), (after, 8))
    found = history(with_estimate(stepped((1.0, 16)), name, values))
    change = only(of(found, "X25519", name))
    assert (change.verdict, change.in_force, change.index) == ("slower", True, 8)
    assert found.verdict == "slower"


@pytest.mark.parametrize("name", ["wire_bytes_per_handshake", "server_memory_bytes"])
def test_amounts_are_more_or_less_and_no_slowdown(name: str) -> None:
    for values, verdict in (([1500.0] * 8 + [1800.0] * 8, "more"), ([1800.0] * 8, "")):
        found = history(with_estimate(stepped((1.0, len(values))), name, values))
        assert [c.verdict for c in of(found, "X25519", name).changes] == [verdict] * bool(verdict)
        assert found.verdict == "not_slower"
    less = noisy((1800.0, 8), (1500.0, 8))
    found = history(with_estimate(stepped((1.0, 16)), name, less))
    assert only(of(found, "X25519", name)).verdict == "less"


def test_the_values_of_one_side_may_all_be_equal() -> None:
    """The bytes of a handshake are constant: scipy warns of their zero variance."""
    low, high = welch(np.full(7, 0.3), np.array([0.5, 0.6, 0.55])) or (0.0, 0.0)
    assert 0 < low < 0.25 < high
    assert welch(np.full(7, 0.3), np.full(3, 0.5)) == pytest.approx((0.2, 0.2))


def test_requests_that_are_the_connections_have_no_history_of_their_own() -> None:
    found = history(stepped((1.0, 8)))
    assert "requests_per_s" not in {each.estimate for each in found.cells}


def without_values(run: Run, group: str) -> Run:
    """The run, with an invalid cell of this group."""
    cells = tuple(
        replace(cell, verdict="invalid") if cell.factors["group"] == group else cell
        for cell in run.summary.cells
    )
    return replace(run, summary=replace(run.summary, cells=cells))


def test_a_newest_run_that_did_not_measure_a_cell_shows_nothing_of_it() -> None:
    runs = stepped((1.0, 10))
    assert history(runs).verdict == "not_slower"
    found = history([*runs[:-1], without_values(runs[-1], "P-256")])
    assert found.verdict == "cannot_tell"
    assert {each.missing_in for each in found.cells if each.label.endswith("P-256")} == {"run-09"}
    assert headline(found).endswith("The newest run, run-09, has no usable value of " + LABEL + ".")
    assert reason(found) == "cannot tell: the newest run has no usable value of 1 cell"
    # An earlier run without it says nothing against the newest one.
    earlier = [without_values(runs[0], "P-256"), *runs[1:]]
    assert history(earlier).verdict == "not_slower"


def test_a_cell_that_the_newest_run_leaves_out_does_not_keep_the_others_open() -> None:
    runs = stepped((1.0, 10))
    cells = tuple(c for c in runs[-1].summary.cells if c.factors["group"] != "P-256")
    newest = replace(runs[-1], summary=replace(runs[-1].summary, cells=cells))
    assert history([*runs[:-1], newest]).verdict == "not_slower"


def test_each_history_has_a_newest_run_of_its_own_and_what_is_not_supported_is_known() -> None:
    slow, fast = ({"machine": {"processor": name, "processors": 2}} for name in ("old", "new"))
    runs = made_runs({"X25519": [1.0] * 16}, facts=[slow, fast] * 8)
    ends = [without_values(run, "P-256") for run in runs[-2:]]
    found = history([*runs[:-2], *ends])
    assert "run-14, has no usable value of " + LABEL + ". The newest run, run-15" in headline(found)
    lost = tuple(
        replace(cell, verdict="unsupported") if cell.factors["group"] == "P-256" else cell
        for cell in runs[-1].summary.cells
    )
    newest = replace(runs[-1], summary=replace(runs[-1].summary, cells=lost))
    assert history([*runs[:-1], newest]).verdict == "not_slower"
