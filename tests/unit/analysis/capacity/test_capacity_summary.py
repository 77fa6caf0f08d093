"""From made-up capacity runs to the summary: the chosen values must come out."""

import json
from dataclasses import replace

import pytest

from factories.capacity import FIFTHS, CapacityWorld, drive, made_capacity_run, made_cell, made_plan
from factories.capacity_summary import (
    FIVE,
    captured_run,
    figure,
    findings,
    highest,
    stated,
    statement,
    table,
)
from tlslab.analysis.capacity import summarise
from tlslab.analysis.capacity.capacity_cell import measure
from tlslab.analysis.capacity.findings import findings as made_findings
from tlslab.analysis.capacity.findings import longer
from tlslab.contract.record import Verdict
from tlslab.domain.capacity import Objective
from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import Marked
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.lab.store import from_json, to_json
from tlslab.words.capacity import SENTENCES

pytestmark = pytest.mark.slow


@pytest.fixture(name="summary", scope="module")
def _summary() -> Summary:
    return summarise(made_capacity_run(plan=FIVE))


def test_the_maximum_comes_out_as_it_went_in(summary: Summary) -> None:
    found = summary.cell("server=nginx,processors=1")
    assert found.verdict == "valid"
    assert found.trials == 5
    rate = found.estimates["connections_per_s"]
    assert rate.value == pytest.approx(CapacityWorld().best, rel=0.03)
    assert rate.n == 5
    assert rate.low is not None
    assert rate.unit == "1/s"


def test_every_estimate_has_n_unit_and_method(summary: Summary) -> None:
    for cell in summary.cells:
        for estimate in cell.estimates.values():
            assert estimate.unit
            assert estimate.method
            assert estimate.n == 5


def test_a_mean_is_called_longer_only_where_intervals_do_not_overlap(summary: Summary) -> None:
    estimates = summary.cell("server=nginx,processors=1").estimates
    low, high = (estimates[f"response_ms_mean_at_{100 * f:g}"] for f in (FIFTHS[0], FIFTHS[-1]))
    assert low.high is not None
    assert high.low is not None
    assert high.low > low.high
    said = {each.cells[0]: each.values["longer"] for each in findings(summary, "latency")}
    assert said["server=nginx,processors=1"] is True
    near = Estimate(10.0, 2.0, 50.0, 3, "ms", "")
    first = Estimate(5.0, 4.0, 6.0, 3, "ms", "")
    assert longer(first, near, 0.3) is False
    assert longer(Estimate(5.0, None, None, 1, "ms", ""), near, 1.0) is None


def test_response_times_climb_with_the_load(summary: Summary) -> None:
    estimates = summary.cell("server=nginx,processors=1").estimates
    times = [estimates[f"response_ms_p50_at_{100 * f:g}"].value for f in FIFTHS]
    assert times == sorted(times)
    assert times[-1] > 10 * times[0]


def test_scaling_is_paired_with_an_interval(summary: Summary) -> None:
    first, _ = stated(summary, "scaling")
    assert first["ratio"].value == pytest.approx(1.95, abs=0.05)
    assert first["ratio"].low is not None


def test_two_servers_are_overlaid_at_equal_processors(summary: Summary) -> None:
    for processors in ("1", "2"):
        overlay = figure(summary, f"overlay-{processors}")
        assert [s.name for s in overlay.series][::2] == ["nginx: p50", "apache: p50"]
        assert all(len(series.x) == 5 for series in overlay.series)
    assert len(stated(summary, "platforms")) == 2


def test_the_objective_is_a_capacity_below_the_maximum(summary: Summary) -> None:
    cell = summary.cell("server=nginx,processors=1")
    maxima = table(summary, "maxima")
    loads = {str(row[0]): row[2] for row in maxima.rows}
    kept = int(str(loads["nginx, 1 processor"]).split()[0].replace(",", ""))
    maximum = cell.estimates["connections_per_s"].value
    assert 0.59 * maximum < kept < maximum
    assert findings(summary, "objective")[0].cells == (cell.key,)
    assert stated(summary, "objective")[0]["capacity"].load.value == kept


def test_loads_with_a_late_generator_say_nothing_of_response_times() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld(late_ms=500.0)}, FIVE))
    (loads,) = [each for each in summary.tables if each.id.startswith("loads-")]
    assert {row[-1] for row in loads.rows} == {"generator late"}
    assert not stated(summary, "latency")
    (cell,) = summary.cells
    assert not [name for name in cell.estimates if name.startswith("response_ms_mean_at_")]


def test_the_diagonal_is_drawn_beside_what_was_completed(summary: Summary) -> None:
    achieved = figure(summary, "achieved-nginx-1-processor")
    *measured, diagonal = achieved.series
    assert {each.name for each in measured} == {"completed"}
    offered = [float(x) for each in measured for x in each.x]
    assert diagonal.x == diagonal.y == (min(offered), max(offered))
    assert diagonal.dashed
    assert diagonal.name in achieved.caption


def test_figures_of_the_study(summary: Summary) -> None:
    names = {each.id for each in summary.figures}
    assert {"search", "maximum", "cpu-load"} <= names
    assert len(names) == len(summary.figures)
    response = figure(summary, "response-nginx-1-processor")
    assert [s.name for s in response.series if not s.hollow] == ["p50", "p99"]
    assert response.y_log
    search = figure(summary, "search")
    assert len(search.marks) == 4


def test_remedies_have_ratios_to_what_is_without(summary: Summary) -> None:
    rows = table(summary, "remedies-0").rows
    assert [row[0] for row in rows][:2] == [
        "1 request per connection",
        "4 requests per connection",
    ]
    assert len(rows) == 6
    assert rows[0][4] is None
    assert rows[1][4] is not None


def test_fewer_than_five_repetitions_have_no_sentence() -> None:
    """No sentence on the maximum, nor on loads and remedies beside a maximum with enough data."""
    spoken = {"answer", "scaling", "platforms", "latency", "objective", "remedies"}
    few = made_plan(remedies=True, objective=Objective("p99", 5.0), repetitions=4)
    assert not spoken & {each.code for each in summarise(made_capacity_run(plan=few)).findings}
    assert few.remedies is not None
    loads = replace(FIVE, open_loop=few.open_loop, remedies=few.remedies)
    summary = summarise(made_capacity_run(plan=loads))
    assert spoken & {each.code for each in summary.findings} == {"answer", "scaling", "platforms"}
    assert summary.answer is not None
    assert [each.code for each in summary.answer.statements] == ["highest_rate"]
    assert spoken <= {each.code for each in summarise(made_capacity_run(plan=FIVE)).findings}


def test_the_same_run_gives_the_same_summary_and_survives_the_disk(summary: Summary) -> None:
    again = summarise(made_capacity_run(plan=FIVE))
    assert to_json(again) == to_json(summary)
    written = json.dumps(to_json(summary), allow_nan=False)
    back = from_json(json.loads(written), Summary)
    assert json.dumps(to_json(back), allow_nan=False) == written


def test_a_generator_that_was_the_limit_gives_at_least() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld(client_us=400.0)}, FIVE))
    (cell,) = summary.cells
    assert cell.verdict == "at_least"
    assert {note.code for note in cell.reasons} >= {"search_generator_bound", "client_saturated"}
    assert stated(summary, "answer")[0]["bounds"] == [True]
    assert stated(summary, "inconclusive")[0]["reason"] == "generator_bound"


@pytest.mark.parametrize(("late_ms", "verdict"), [(0.01, "kept up"), (5.0, "generator late")])
def test_a_generator_is_late_where_its_delay_is_part_of_the_response(
    late_ms: float, verdict: str
) -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld(late_ms=late_ms)}))
    assert table(summary, "loads-0").rows[1][-1] == verdict


def test_an_inconclusive_cell_leaves_the_others_alone() -> None:
    summary = summarise(
        made_capacity_run({"nginx": CapacityWorld(), "apache": CapacityWorld(fails_from=1)})
    )
    verdicts = {cell.key.split(",")[0]: cell.verdict for cell in summary.cells}
    assert verdicts == {"server=nginx": "valid", "server=apache": "failed"}
    assert findings(summary, "inconclusive")[0].cells == ("server=apache,processors=1",)


def test_steps_that_failed_are_reported() -> None:
    world = CapacityWorld(status=lambda s: "failed" if s.fraction == 0.6 else "done")
    summary = summarise(made_capacity_run({"nginx": world}))
    (cell,) = summary.cells
    assert cell.verdict == "valid"
    assert "trial_server_died" in {note.code for note in cell.reasons}
    assert "response_ms_p50_at_60" not in cell.estimates


def test_a_shared_processor_makes_a_lower_bound() -> None:
    contents = made_capacity_run(
        {"nginx 1": CapacityWorld(), "nginx 2": CapacityWorld(alone=1700.0)}, FIVE
    )
    contents = replace(
        contents, environment=replace(contents.environment, generator_processors=(1,))
    )
    summary = summarise(contents)
    assert [cell.verdict for cell in summary.cells] == ["valid", "at_least"]
    assert "shared_processor" in {note.code for note in summary.cells[1].reasons}
    (scaling,) = stated(summary, "scaling")
    assert (scaling["shared"], scaling["bound"]) == (True, "at least")


def test_an_invalid_capture_is_not_judged() -> None:
    summary = summarise(captured_run(dropped=3))
    (values,) = stated(summary, "validation")
    assert "no time was compared; 1 load is invalid" in values["results"]
    assert table(summary, "validation").rows[0][-1] == "invalid"


def test_a_capture_stands_in_a_table_of_its_own() -> None:
    summary = summarise(captured_run())
    assert stated(summary, "validation")[0]["results"].startswith("1 of 1 time agrees")
    assert table(summary, "validation").rows[0][-1] == "within 1 %"


def test_cells_that_differ_in_one_level_are_compared_with_the_baseline() -> None:
    worlds = {
        ("jdk-17", "none"): CapacityWorld(alone=500.0, seed=1),
        ("jdk-25", "none"): CapacityWorld(alone=550.0, seed=2),
        ("jdk-25", "nginx"): CapacityWorld(alone=900.0, seed=3),
    }
    cells = [made_cell(server="tomcat", jdk=jdk, front=front) for jdk, front in worlds]
    trials = [drive(FIVE, world, cell) for cell, world in zip(cells, worlds.values(), strict=True)]
    where = made_capacity_run(plan=FIVE).environment
    measured = [measure(c, t, FIVE, where) for c, t in zip(cells, trials, strict=True)]
    found = made_findings(measured, FIVE, {"front": "none"})
    pairs = {f.cells: f.values for f in found if f.code == "variants"}
    keys = [cell.key for cell in measured]
    assert list(pairs) == [(keys[0], keys[1]), (keys[1], keys[2])]
    for values in pairs.values():
        assert values["ratio"].value > values["ratio"].low > 1
        assert (values["established"], values["family"]) == (True, 2)


def with_spoiled_maxima(contents: RunContents, server: str) -> RunContents:
    """For each trial of a server's maximum, two that were interrupted: the maximum is invalid."""
    spoiled = []
    for trial in contents.trials:
        if trial.factors["stage"] == "maximum" and trial.factors["server"] == server:
            run = trial.runs["maximum"]
            record = replace(run.record, verdicts=(Verdict("interrupted", "by a signal"),))
            runs = {**trial.runs, "maximum": replace(run, record=record)}
            for more in (100, 200):
                number = int(trial.factors["repetition"]) + more
                factors = {**trial.factors, "repetition": str(number)}
                spoiled.append(replace(trial, factors=factors, runs=runs))
    return replace(contents, trials=(*contents.trials, *spoiled))


def test_an_invalid_maximum_is_in_no_sentence() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0), "apache": CapacityWorld(alone=700.0, seed=3)}
    contents = made_capacity_run(worlds, FIVE)
    assert highest(summarise(contents))["cell"] == "server=nginx,processors=1"
    summary = summarise(with_spoiled_maxima(contents, "nginx"))
    nginx = summary.cell("server=nginx,processors=1")
    assert (nginx.verdict, nginx.estimates["connections_per_s"].n) == ("invalid", nginx.trials)
    assert nginx.trials >= 5
    apache = "server=apache,processors=1"
    assert highest(summary)["cell"] == apache
    assert figure(summary, "maximum").series[0].x == ("apache",)
    assert findings(summary, "platforms") == []
    for code in ("answer", "latency"):
        assert [each.cells for each in findings(summary, code)] == [(apache,)]


@pytest.mark.parametrize(("limit_ms", "bound"), [(0.5, "below"), (45.0, "at_least")])
def test_an_answer_that_is_not_confirmed_is_a_statement_and_no_estimate(
    limit_ms: float, bound: str
) -> None:
    plan = made_plan(objective=Objective("p99", limit_ms), repetitions=5)
    plan = replace(plan, open_loop=replace(plan.open_loop, fractions=(0.2, 0.4)))
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, plan))
    (cell,) = summary.cells
    name = "capacity_connections_per_s"
    assert summary.answer is not None
    tiles = [each for each in summary.answer.tiles if each.title.startswith("Meets")]
    found = statement(summary, "meets_objective")["capacity"]
    assert (found.bound, found.is_confirmed) == (bound, False)
    assert (name in cell.estimates, tiles, cell.lower_bounds) == (False, [], ())
    assert name in cell.not_measurable
    marks = [m for each in summary.figures if each.id.startswith("response") for m in each.marks]
    assert all(mark.onward for mark in marks)


def test_an_objective_longer_than_the_runs_can_show_is_not_judged() -> None:
    """Runs of 1 s and a limit of 1 s: the queue of an overload of 5 % would be 50 ms long."""
    plan = made_plan(objective=Objective("p99", 1000.0), repetitions=5)
    plan = replace(plan, open_loop=replace(plan.open_loop, fractions=(0.2, 0.4)))
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, plan))
    assert stated(summary, "objective")[0]["capacity"] is None


def test_stored_loads_give_a_safe_answer_that_is_not_confirmed() -> None:
    """The highest of the five loads whose time is below the limit, by all runs together."""
    summary = summarise(made_capacity_run({"nginx": CapacityWorld()}, FIVE))
    (values,) = stated(summary, "objective")
    rows = {row[0]: row for row in table(summary, "loads-0").rows}
    found = values["capacity"]
    loads = (found.load.value, found.missed.offered)
    assert (*loads, found.is_confirmed) == (rows["60 %"][1], rows["80 %"][1], False)
    column = table(summary, "loads-0").columns.index("p99 ms")
    missed = rows["80 %"][column]
    assert isinstance(missed, Estimate)
    assert missed.value > 5.0


@pytest.mark.parametrize("repetitions", [1, 5])
def test_a_search_within_the_objective_is_said_and_confirmed(repetitions: int) -> None:
    """Also by a run whose maximum has too few repetitions for a sentence."""
    plan = made_plan(objective=Objective("p99", 5.0), repetitions=repetitions, within=12)
    world = CapacityWorld()
    summary = summarise(made_capacity_run({"nginx": world}, plan))
    assert summary.answer is not None
    found = statement(summary, "meets_objective")["capacity"]
    assert found.is_confirmed
    met, above, missed = found.load.value, found.above.offered, found.missed.offered
    # p99 is 1.26 times the mean of 1/(1 - load).
    assert met < (1 - 1.26 / 5) * world.best * 1.01
    assert 1.03 * met < above < missed < 1.12 * met
    name = "capacity_connections_per_s"
    (cell,) = summary.cells
    assert (cell.estimates[name].value, name in cell.lower_bounds) == (met, True)
    if repetitions == 5:
        tiles = [each for each in summary.answer.tiles if each.title.startswith("Meets")]
        assert [each.bound for each in tiles] == [True]
    assert (summary.answer.lacking is None) == (repetitions == 5)
    (loads,) = [each for each in summary.tables if each.id.startswith("loads-")]
    assert {met, above, missed} <= {row[1] for row in loads.rows}
    (cell,) = summary.cells
    at = {name.partition("_at_")[2] for name in cell.estimates if "_at_" in name}
    assert at == {"20", "40", "60", "80", "100"}


@pytest.mark.parametrize("warmup_ms", [200, 16_000])
def test_users_who_give_up_make_response_times_lower_bounds(warmup_ms: int) -> None:
    plan = made_plan(repetitions=5)
    loop = replace(
        plan.open_loop,
        fractions=(0.4, 1.2),
        patience_ms=8000,
        retries=1,
        window=replace(plan.open_loop.window, warmup_ms=warmup_ms),
    )
    summary = summarise(
        made_capacity_run({"nginx": CapacityWorld()}, replace(plan, open_loop=loop))
    )
    (cell,) = summary.cells
    least = warmup_ms == 200
    # Up to a sixth of 1.2 times the maximum is more than the server takes.
    assert 0.1 < cell.estimates["users_gave_up_at_120"].value < 1 / 6
    assert cell.estimates["users_gave_up_at_40"].value == 0
    assert ("users_answered_at_120" in cell.estimates) == (not least)
    too_low = set(cell.lower_bounds)
    assert {"response_ms_mean_at_120", "response_ms_p99_at_120"} <= too_low
    assert not {name for name in too_low if name.startswith("response") and name.endswith("_40")}
    assert ("users_gave_up_at_120" in too_low) == least
    loads = table(summary, "loads-0")
    low, high = (row[loads.columns.index("gave up")] for row in loads.rows)
    assert isinstance(high, Marked) == isinstance(low, Marked) == least
    (values,) = stated(summary, "patience")
    assert (values["loads"], values["patience_s"], values["bound"]) == ([0.4, 1.2], 8.0, least)
    (finding,) = findings(summary, "patience")
    words = SENTENCES["patience"](finding.values, finding.cells, summary)
    assert "users who had no answer within 8 s gave up for good after 2 attempts" in words
    assert ("at 120 %, at least 1" in words) == least
    assert words.endswith("at 40 %, nobody.")
    without = summarise(made_capacity_run({"nginx": CapacityWorld()}, plan))
    assert findings(without, "patience") == []
    assert "gave up" not in table(without, "loads-0").columns


def test_growth_names_what_grows(summary: Summary) -> None:
    first = next(each for each in findings(summary, "scaling") if "nginx" in each.cells[0])
    assert SENTENCES["scaling"](first.values, first.cells, summary).startswith("nginx takes ")
    fronts = {"nginx": "haproxy", "apache": "none"}
    behind = replace(
        summary,
        cells=tuple(
            replace(
                cell,
                factors={
                    "front": fronts[cell.factors["server"]],
                    "processors": cell.factors["processors"],
                },
            )
            for cell in summary.cells
        ),
    )
    text = SENTENCES["scaling"](first.values, first.cells, behind)
    assert text.startswith("behind haproxy takes ")
