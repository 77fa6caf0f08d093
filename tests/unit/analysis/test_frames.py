"""A run's raw results as tables: the same numbers as in the trials and in the report."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from factories import benchmarks, capacity
from factories.run import made_run
from factories.worded import summarise
from tlslab.analysis.frames import FRAMES
from tlslab.analysis.frames.frame import Field, Value, field, make_frame
from tlslab.domain.distribution import Distribution
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.run_record import load_histograms

pytestmark = pytest.mark.slow


@pytest.fixture(name="matrix", scope="module")
def _matrix() -> RunContents:
    return made_run()


def geometric_mean(values: Sequence[Value]) -> float:
    return float(np.exp(np.log(np.array(values, dtype=float)).mean()))


def test_each_trial_has_a_row_and_its_factors_are_columns(matrix: RunContents) -> None:
    frame = FRAMES["trials"](matrix)
    assert frame.values("trial") == [trial.trial for trial in matrix.trials]
    assert frame.values("group") == [trial.factors.get("group") for trial in matrix.trials]
    done = [trial.status == "done" for trial in matrix.trials]
    assert frame.values("usable") == done
    rates = frame.values("connections_per_s")
    assert [rate is not None for rate in rates] == done


def test_the_means_of_rows_are_the_estimates_of_the_report(
    matrix: RunContents, full_summary: Summary
) -> None:
    frame = FRAMES["trials"](matrix)
    compared = 0
    for cell in full_summary.cells:
        for name in ("connections_per_s", "server_cpu_us_per_connection"):
            if (estimate := cell.estimates.get(name)) is None:
                continue
            pairs = zip(frame.values("cell"), frame.values(name), strict=True)
            values = [value for key, value in pairs if key == cell.key and value is not None]
            assert geometric_mean(values) == pytest.approx(estimate.value)
            compared += 1
    assert compared > 10


def test_counts_of_histograms_and_slices_are_those_of_the_runs(matrix: RunContents) -> None:
    runs, counts = FRAMES["runs"](matrix), FRAMES["histograms"](matrix)
    first = matrix.trials[0]
    run = first.runs["capacity"].record
    place = list(zip(runs.values("trial"), runs.values("run"), strict=True)).index(
        (first.trial, "capacity")
    )
    assert runs.values("completed")[place] == run.outcomes.completed
    assert runs.values("negotiated_group")[place] == run.facts[0].group
    names = [column.name for column in counts.columns]
    at = {name: names.index(name) for name in ("trial", "run", "histogram", "count")}
    counted = sum(
        int(row[at["count"]] or 0)
        for row in counts.rows
        if (row[at["trial"]], row[at["run"]], row[at["histogram"]])
        == (first.trial, "capacity", "handshake")
    )
    assert counted == Distribution.decode(load_histograms(run)["handshake"]).n > 0
    slices = FRAMES["seconds"](matrix)
    expected = sum(
        len(each.record.intervals) for trial in matrix.trials for each in trial.runs.values()
    )
    assert len(slices.rows) == expected > 0


def test_a_trial_with_a_fault_is_there_without_values(matrix: RunContents) -> None:
    first = matrix.trials[0]
    run = first.runs["capacity"]
    lost = replace(run.record, outcomes=replace(run.record.outcomes, attempts=1))
    broken = replace(first, runs={**first.runs, "capacity": replace(run, record=lost)})
    frame = FRAMES["trials"](replace(matrix, trials=(broken, *matrix.trials[1:])))
    assert frame.values("usable")[:2] == [False, True]
    assert frame.values("faults")[0] == "capacity: accounting"
    assert frame.values("connections_per_s")[0] is None


def test_of_a_capacity_run_what_was_measured_has_values_and_the_search_has_none() -> None:
    contents = capacity.made_capacity_run()
    frame = FRAMES["trials"](contents)
    assert set(frame.values("stage")) >= {"search", "maximum", "open_loop"}
    at = frame.values("stage").index("maximum")
    assert isinstance(frame.values("connections_per_s")[at], float)
    search = frame.values("stage").index("search")
    assert frame.values("connections_per_s")[search] is None
    assert len(FRAMES["benchmarks"](contents).rows) == 0


def test_benchmarks_have_a_row_for_each_iteration() -> None:
    contents = benchmarks.made_contents()
    frame = FRAMES["benchmarks"](contents)
    expected = sum(
        len(run.iterations) for trial in contents.trials for run in trial.benchmarks.values()
    )
    assert len(frame.rows) == expected > 0
    assert set(frame.values("mode")) == {"throughput", "sample"}
    summary = summarise(contents)
    cell = next(cell for cell in summary.cells if "operations_per_s" in cell.estimates)
    trials = FRAMES["trials"](contents)
    pairs = zip(trials.values("cell"), trials.values("operations_per_s"), strict=True)
    values = [value for key, value in pairs if key == cell.key]
    assert geometric_mean(values) == pytest.approx(cell.estimates["operations_per_s"].value)


def test_two_columns_of_one_name_are_refused() -> None:
    twice: list[Field[object]] = [field("a", "integer", "", "", lambda row: 1)] * 2
    with pytest.raises(ValueError, match="columns of one name in x"):
        make_frame("x", twice, [object()])


def test_each_of_several_generators_has_a_row(matrix: RunContents) -> None:
    first, second = matrix.trials[:2]
    run = first.runs["capacity"]
    lost = replace(run, record=capacity.made_by(run.record, 3, is_lost=True))
    several = replace(first, runs={**first.runs, "capacity": lost})
    frame = FRAMES["hosts"](replace(matrix, trials=(several, second)))
    assert frame.values("trial") == [first.trial] * 3
    assert frame.values("run") == ["capacity"] * 3
    assert frame.values("host") == ["node-0", "node-1", "node-2"]
    assert frame.values("start_skew_s") == [0.0, 1e-4, None]
    for name, value in [("offset_s", 0.5), ("uncertainty_s", 2e-5), ("drift_ppm", 3.0)]:
        assert frame.values(f"clock_{name}") == [value] * 3
    cpu = lost.record.hosts[0].cpu
    assert frame.values("client_user_us") == [cpu.user_us, cpu.user_us, None]
    assert frame.values("lost") == [None, None, "it died"]
    assert frame.values("verdicts")[0] == "valid"
    assert FRAMES["hosts"](matrix).rows == ()
