import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from factories.benchmarks import CRASHED, made_contents
from tlslab import analysis, report
from tlslab.analysis.benchmark.curves import Curve, make_curves
from tlslab.analysis.benchmark.findings import answer, findings
from tlslab.analysis.benchmark.fork_estimates import WARMING_UP, measure
from tlslab.analysis.benchmark.processors import Costs, costs
from tlslab.analysis.benchmark.tables import at_bound
from tlslab.analysis.stats.scaling import Knee
from tlslab.domain.benchmark import BenchmarkRun
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPERATION_COST, OPERATIONS
from tlslab.domain.finding import Note, Summary
from tlslab.lab.store import from_json, to_json

CLUSTER_SIGN = "runtime=jdk-17,benchmark=sign,keys=cluster,threads="


@pytest.fixture(scope="module")
def summary() -> Summary:
    return analysis.summarise(made_contents())


def measured(benchmark: str) -> Any:
    """The cells of a benchmark, except those with a fault."""
    contents = made_contents()
    trials = defaultdict(list)
    for trial in contents.trials:
        trials[trial.cell].append(trial)
    cells = [cell for cell in contents.plan.cells if cell.factors["benchmark"] == benchmark]
    return [measure(c, trials[c.key], 5, {}) for c in cells if "fault" not in c.factors]


def table(summary: Summary, name: str) -> Any:
    return next(table for table in summary.tables if table.id == name)


def test_every_cell_has_its_estimates(summary: Summary) -> None:
    cell = summary.cell(CLUSTER_SIGN + "1")
    assert cell.verdict == "valid"
    assert cell.trials == 5
    assert cell.estimates[OPERATIONS].value == pytest.approx(480, rel=0.03)
    assert cell.estimates["signers_cpu_us_per_operation"].value == pytest.approx(1000, rel=0.03)
    assert cell.estimates["operation_ms_p99"].n == 5
    assert not cell.not_measurable


def test_a_percentile_without_enough_samples_is_not_shown(summary: Summary) -> None:
    cell = summary.cell("runtime=jdk-17,benchmark=handshake-tls12,keys=cluster,threads=1")
    assert "operation_ms_p99" in cell.estimates
    assert "operation_ms_p999" in cell.not_measurable
    assert "operation_ms_p999" not in cell.estimates


def test_keys_are_compared_with_the_baseline(summary: Summary) -> None:
    found = [
        c for c in summary.comparisons
        if c.candidate == "runtime=jdk-17,benchmark=sign,keys=pkcs11,threads=1"
    ]  # fmt: skip
    rates = {comparison.estimate: comparison for comparison in found}
    assert rates[OPERATIONS].verdict == "faster"
    assert rates[OPERATIONS].ratio == pytest.approx(1300 / 900, rel=0.05)
    assert OPERATION_COST in rates


def test_the_ratio_of_processors_is_that_of_both_sides_costs(summary: Summary) -> None:
    rows = {row[0]: row for row in table(summary, "processors").rows if "JDK" in row[1]}
    assert rows["XML signatures"][4].value == pytest.approx(2.0, rel=0.02)
    assert rows["TLS 1.2 handshakes"][4].value == pytest.approx(0.6, rel=0.02)


def made_costs(**changes: Any) -> Costs:
    """The costs of signatures through the cluster, with a ratio that excludes 1 : 2."""
    (found, *_) = costs(make_curves(measured("sign")), 2)
    return replace(found, ratio=replace(found.ratio, low=0.75, high=0.83, **changes))


def warming(curve: Curve) -> Curve:
    """The curve with one cell whose forks were still warming up."""
    threads, cell = next(iter(curve.cells.items()))
    note = Note(WARMING_UP, "the last iterations were 9% faster than the first: warm up for longer")
    noted = replace(cell, summary=replace(cell.summary, reasons=(note,)))
    return replace(curve, cells={**curve.cells, threads: noted})


def test_a_ratio_states_its_reservation() -> None:
    known = made_costs()
    for found, reservation in (
        (known, ""),
        (replace(known, curve=warming(known.curve)), "warming"),
        (made_costs(n=4), "few"),
    ):
        (finding,) = findings([], [found], 2)
        assert finding.values["reservation"] == reservation


def test_a_curve_of_forks_that_were_warming_up_has_no_knee() -> None:
    (curve, *_) = make_curves(measured("sign"))
    (finding,) = findings([warming(curve)], [], 2)
    assert (finding.code, finding.values["growth"]) == ("knee_open", "warming")


@pytest.mark.parametrize(("last", "warned"), [(0.9, True), (1.02, False), (1.2, True)])
def test_a_processor_time_that_changes_in_a_fork_is_warming_up(last: float, warned: bool) -> None:
    """At an even rate: Java's compiler works on the general processors."""
    contents = made_contents()
    (cell, *_) = (each for each in contents.plan.cells if each.key == CLUSTER_SIGN + "1")

    def changed(run: BenchmarkRun) -> BenchmarkRun:
        first, *_, end = run.iterations
        return replace(run, iterations=(first, first, replace(end, cpu_us=last * end.cpu_us)))

    trials = [
        replace(t, benchmarks={mode: changed(run) for mode, run in t.benchmarks.items()})
        for t in contents.trials
        if t.cell == cell.key
    ]
    codes = [note.code for note in measure(cell, trials, 5, {}).summary.reasons]
    assert (WARMING_UP in codes) == warned


def test_the_law_is_in_the_table(summary: Summary) -> None:
    rows = {(row[0], row[1]): row for row in table(summary, "scaling").rows}
    row = rows["XML signatures", "JDK 17, key on the cluster"]
    assert row[6].value == pytest.approx(0.3, abs=0.1)
    assert row[8].low <= (0.7 / 0.004) ** 0.5 <= row[8].high


def test_a_parameter_at_its_bound_has_no_interval() -> None:
    found = at_bound(Estimate(6.7e-17, 0.0, 2.5e-13, 5, "", "fit"))
    assert (found.value, found.low, found.high) == (0.0, None, None)
    inside = Estimate(0.007, 0.0, 0.019, 5, "", "fit")
    assert at_bound(inside) is inside
    # One of the fits that leave a block out is not at the bound, so there is an interval.
    wide = Estimate(0.0, 0.0, 0.009, 5, "", "fit")
    assert at_bound(wide) is wide


def test_the_cost_of_drawing_is_subtracted(summary: Summary) -> None:
    row = next(r for r in table(summary, "drawing").rows if r[0] == "JDK 17, key in memory")
    _, drawn, both, left, _ = row
    assert left.value == pytest.approx(both.value - drawn.value, rel=0.05)


def test_there_is_a_figure_on_either_kind_of_axes(summary: Summary) -> None:
    figures = {figure.id: figure for figure in summary.figures}
    assert figures["latency-log-sign"].y_log
    assert not figures["latency-linear-sign"].y_log
    assert {"throughput-sign", "composition", "fault-killed-none"} <= set(figures)
    assert len(figures) == len(summary.figures)
    for figure in summary.figures:
        for series in figure.series:
            assert len(series.x) == len(series.y)


def test_the_table_of_faults_has_rates_before_and_during_a_fault(summary: Summary) -> None:
    rows = {(row[0], row[1][:4]): row for row in table(summary, "faults").rows}
    killed = rows["killed", "each"]
    assert killed[2].value == pytest.approx(1000)
    assert killed[3].value == pytest.approx(500)
    assert killed[8].value == pytest.approx(0.5)
    assert killed[9] == "connection"
    assert rows["killed", "a fa"][8].value == 0
    assert any(f.code == "fault_killed_none" for f in summary.findings)


def test_a_fork_that_crashed_is_a_reason_and_the_others_count() -> None:
    contents = made_contents(failing=CLUSTER_SIGN + "2")
    cell = analysis.summarise(contents).cell(CLUSTER_SIGN + "2")
    assert cell.verdict == "valid"
    assert cell.trials == 4
    assert cell.reasons[0].code == CRASHED.class_
    assert "1 of 5 forks" in cell.reasons[0].message


def test_one_block_gives_values_without_intervals() -> None:
    contents = made_contents()
    first = tuple(trial for trial in contents.trials if trial.block == 0)
    brief = type(contents)(contents.experiment, contents.plan, contents.environment, first)
    summary = analysis.summarise(brief)
    assert summary.cell(CLUSTER_SIGN + "1").estimates[OPERATIONS].low is None
    assert summary.cell(CLUSTER_SIGN + "1").reasons[0].code == "missing_trials"
    assert not any(f.code == "knee" for f in summary.findings)


@pytest.mark.parametrize(
    ("gain", "code", "growth"),
    [(1.02, "knee", "knee"), (1.5, "knee_open", "open"), (187.0, "knee_open", "far")],
)
def test_a_knee_says_how_much_is_known_of_it(gain: float, code: str, growth: str) -> None:
    (curve, *_) = make_curves(measured("sign"))
    at = Estimate(1.0, 1.0, 8.0, 5, "threads", "bootstrap")
    known = replace(curve, knee=Knee(at, linear_to=1, gain=gain, at_end=False))
    (finding,) = findings([known], [], 2)
    assert (finding.code, finding.values["growth"]) == (code, growth)
    assert (finding.values["at"], finding.values["gain"]) == (at, gain)


def test_a_run_without_results_has_a_summary() -> None:
    contents = made_contents()
    nothing = type(contents)(contents.experiment, contents.plan, contents.environment, ())
    assert all(cell.verdict == "invalid" for cell in analysis.summarise(nothing).cells)


def test_the_summary_survives_json_and_every_report_is_made_of_it() -> None:
    summary = analysis.summarise(made_contents(failing="sign"))
    again = from_json(json.loads(json.dumps(to_json(summary), allow_nan=False)), Summary)
    assert again.tables == summary.tables
    page = report.render_html(again)
    assert "<b>crashed</b>" not in page
    assert "latency-log-sign" in page
    assert report.render_text(again)


def test_threads_without_a_result_are_named_beside_the_knee() -> None:
    """The highest number with a result is not the highest number that was tried."""
    cells = measured("sign")
    dead = [
        replace(c, values={}, summary=replace(c.summary, verdict="failed", estimates={}))
        if c.summary.key in (CLUSTER_SIGN + "8", CLUSTER_SIGN + "16")
        else c
        for c in cells
    ]
    for made, named in ((cells, False), (dead, True)):
        curve = next(c for c in make_curves(made) if c.keys == "cluster")
        assert curve.bare == ((8, 16) if named else ())
        (finding,) = findings([curve], [], 2)
        (said,) = answer(made_contents(), [curve], [], 2).statements
        assert finding.values["bare"] == said.values["bare"] == curve.bare


@pytest.mark.parametrize(("blocks", "code"), [(0, "no_benchmark"), (1, "too_few"), (5, "no_curve")])
def test_one_number_of_threads_has_results_but_no_answer(blocks: int, code: str) -> None:
    contents = made_contents()
    trials = [
        trial
        for trial in contents.trials
        if trial.factors["threads"] == "1" and trial.block < blocks and "fault" not in trial.factors
    ]
    cells = [cell for cell in contents.plan.cells if cell.factors["threads"] == "1"]
    made = [measure(c, [t for t in trials if t.cell == c.key], 5, {}) for c in cells]
    found = answer(contents, make_curves(made), [], 2).lacking
    assert found is not None
    assert found.code == code
