"""The source of the server's time is a fact of the report, and its error widens the intervals."""

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from factories.run import World, made_run
from factories.worded import summarise
from tlslab.analysis.overlay import Side, overlay
from tlslab.analysis.server_side import reading_bias, server_side_facts
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.domain.trial import (
    PackageEnergy,
    ProcessorTimes,
    RunKind,
    ServerSide,
    SourceTime,
    TrialRun,
)
from tlslab.report import render_html, render_text

COST = "server_cpu_us_per_connection"
SOURCE = "Server's processor time"


def changed(change: Callable[[TrialRun], TrialRun]) -> RunContents:
    """A made-up run with changed runs of the engine."""
    contents = made_run(World(), quick=True)
    trials = tuple(
        replace(trial, runs={kind: change(run) for kind, run in trial.runs.items()})
        for trial in contents.trials
    )
    return replace(contents, trials=trials)


def by_exporter(run: TrialRun) -> TrialRun:
    """The same run, read from a node_exporter with an error of 8 %, half of it a bias."""
    assert run.server is not None
    bias = round(0.04 * (run.server.user_us + run.server.system_us))
    server = replace(
        run.server,
        source="node_exporter",
        error_us=2 * bias,
        bias_us=bias,
        memory_bytes=None,
        samples=(),
    )
    side = ServerSide(
        used="node_exporter",
        sources=(SourceTime("node_exporter", 3, 1, 1.0, 1),),
        missing={"process_tree": "the server is on another host: see --server-metrics"},
        processors=(ProcessorTimes("0", 500, 200, 0, 100, 50, 150),),
        processors_by="node_exporter",
        idle=0.03,
        idle_seconds=1.0,
    )
    return replace(run, server=server, side=side)


def by_tree(run: TrialRun) -> TrialRun:
    assert run.server is not None
    sources = (SourceTime("process_tree", 70, 30, 1.0), SourceTime("cgroup", 72, 31, 1.0))
    side = ServerSide("process_tree", sources, program="nginx")
    return replace(run, server=replace(run.server, source="process_tree"), side=side)


def unknown(run: TrialRun) -> TrialRun:
    side = ServerSide(None, missing={"process_tree": "no process of this machine listens there"})
    return replace(run, server=None, side=side)


def text_of(summary: Summary) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_whole_machine_by_an_exporter() -> None:
    contents = changed(by_exporter)
    plain, summary = summarise(made_run(World(), quick=True)), summarise(contents)
    facts = summary.server_side
    assert facts[SOURCE] == "whole machine, by node_exporter, above the idle machine's"
    assert facts["Its machine before the load"].startswith("0.030 processors busy")
    assert facts["Error of one run's reading"].startswith("8 % in the median, 8 % at most")
    assert (
        "softirq 10.0 %, steal 5.0 % of 1 processor (node_exporter)"
        in (facts["Its machine's processors"])
    )
    for cell in summary.cells:
        wider, narrow = cell.estimates[COST], plain.cell(cell.key).estimates[COST]
        assert wider.value == narrow.value
        assert wider.low == pytest.approx(0.96 * (narrow.low or 0), rel=1e-3)
        assert wider.high == pytest.approx(1.04 * (narrow.high or 0), rel=1e-3)
        assert "4 % wider on each side" in wider.method
        missing = {"server_memory_bytes", "server_busy", "connections_per_cpu_s"}
        assert not missing & set(cell.estimates)
        rate = cell.estimates["connections_per_s"]
        assert rate == plain.cell(cell.key).estimates["connections_per_s"]
    assert facts[SOURCE] in text_of(summary)
    assert "whole machine, by node_exporter" in render_html(summary)


def test_a_process_tree_beside_its_cgroup() -> None:
    contents = changed(by_tree)
    summary = summarise(contents)
    assert summary.server_side[SOURCE].endswith("found by the listening socket (nginx)")
    assert summary.server_side["Its cgroup against its process tree"].startswith("1.03 times")
    assert reading_bias(contents.trials) == 0
    for cell in summary.cells:
        assert COST in cell.estimates
        assert "wider" not in cell.estimates[COST].method
        # The number of processors that such a server may use is not known.
        assert "server_busy" not in cell.estimates
        assert "neither_saturated" not in {note.code for note in cell.reasons}


def test_a_server_that_no_source_knows() -> None:
    summary = summarise(changed(unknown))
    assert summary.server_side[SOURCE] == "not known: no process of this machine listens there"
    assert all(COST not in cell.estimates for cell in summary.cells)
    assert "not known: no process" in text_of(summary)


def test_servers_that_the_lab_starts_have_no_such_facts_but_energy() -> None:
    assert summarise(made_run(World(), quick=True)).server_side == {}

    def with_energy(run: TrialRun) -> TrialRun:
        energy = (PackageEnergy("package-0", run.record.outcomes.completed / 1000),)
        return replace(run, machine=replace(run.machine, energy=energy))

    text = summarise(changed(with_energy)).server_side["Energy of processor packages"]
    assert re.search(r"new connections, package-0: [\d.]+ J in \d+ runs, 1\.000? mJ per conn", text)
    assert text.endswith("all programs on this machine together")

    def without(run: TrialRun) -> TrialRun:
        return replace(run, machine=replace(run.machine, no_energy="not shown by this kernel"))

    facts = summarise(changed(without)).server_side
    assert facts == {"Energy of processor packages": "not shown by this kernel"}


def test_joules_of_runs_without_new_connections_are_no_connections() -> None:
    trial = made_run(World(), quick=True).trials[0]
    run = trial.runs["capacity"]

    def used(completed: int) -> TrialRun:
        outcomes = replace(run.record.outcomes, completed=completed)
        machine = replace(run.machine, energy=(PackageEnergy("package-0", 10.0),))
        return replace(run, record=replace(run.record, outcomes=outcomes), machine=machine)

    runs: dict[RunKind, TrialRun] = {"capacity": used(1000), "keep_alive": used(0)}
    failed = replace(trial, runs={"capacity": used(0)})
    facts = server_side_facts([replace(trial, runs=runs), failed])
    assert facts["Energy of processor packages"] == (
        "new connections, package-0: 20.0 J in 2 runs, 10.0 mJ per connection; "
        "requests on connections kept open, package-0: 10.0 J in 1 run; "
        "all programs on this machine together"
    )


def test_processors_are_those_of_the_runs_that_show_any() -> None:
    trial = made_run(World(), quick=True).trials[0]
    seen = by_exporter(trial.runs["capacity"])
    assert seen.side is not None
    blind = replace(seen, side=replace(seen.side, processors=()))
    facts = server_side_facts([replace(trial, runs={"capacity": each}) for each in (blind, seen)])
    assert "of 1 processor (node_exporter)" in facts["Its machine's processors"]


def test_costs_of_a_machine_and_of_processes_are_not_compared() -> None:
    tree, machine = summarise(changed(by_tree)), summarise(changed(by_exporter))
    found = overlay(Side("here", tree), Side("there", machine))
    verdicts = {(each.estimate, each.verdict) for each in found.comparisons}
    assert {verdict for name, verdict in verdicts if name == COST} == {"not_comparable"}
    assert ("connections_per_s", "not_comparable") not in verdicts
    assert "server's processor time" in {row[0] for row in found.tables[-1].rows}
    same = overlay(Side("one", machine), Side("two", machine))
    assert (COST, "not_comparable") not in {(e.estimate, e.verdict) for e in same.comparisons}
