"""`tlslab load`: one way to the engine for every format; nothing unmeasured is shown as 0."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from factories.run import made_run
from tlslab.cli.load import _reason, engine_arguments
from tlslab.cli.load_table import load_table
from tlslab.model.record import MachineUsage, RunRecord, Verdict


@pytest.mark.parametrize(
    "given", [["-n", "1", "URL"], ["--json", "URL"], ["--json", "--events", "URL"]]
)
def test_allowed_hosts_reach_the_engine_in_every_form(given: list[str]) -> None:
    line = engine_arguments(given, ("bed.example",))
    assert line[-len(given) :] == given
    assert line[line.index("--allow") + 1] == "bed.example"
    assert line.count("--json") == 1


@pytest.mark.parametrize("mode", ["--in-memory", "--primitives", "--help", "-V"])
def test_modes_without_a_server_get_no_hosts(mode: str) -> None:
    assert engine_arguments([mode], ("bed.example",)) == [mode]


@pytest.mark.parametrize("mode", ["--preflight", "--probe=h", "--hold=10"])
def test_modes_without_a_run_are_passed_on_with_the_hosts(mode: str) -> None:
    assert engine_arguments([mode], ("h",)) == ["--allow", "h", mode]


@pytest.fixture
def record() -> RunRecord:
    return made_run(quick=True).trials[0].runs["capacity"].record


@pytest.fixture
def machine() -> MachineUsage:
    return made_run(quick=True).trials[0].runs["capacity"].machine


def lines(record: RunRecord, machine: MachineUsage) -> dict[str, str]:
    console = Console(file=io.StringIO(), width=300)
    console.print(load_table(record, machine))
    assert isinstance(console.file, io.StringIO)
    rows = [line.split("  ", 1) for line in console.file.getvalue().splitlines()]
    return {name.strip(): value.strip() for name, value in rows}


def test_connections_lead_where_connections_were_asked_for(
    record: RunRecord, machine: MachineUsage
) -> None:
    reported = lines(record, machine)
    assert next(iter(reported)) == "connections"
    assert " connections/s (" in reported["connections"]
    assert "µs per connection" in reported["client CPU"]


def test_requests_lead_where_connections_are_kept_open(
    record: RunRecord, machine: MachineUsage
) -> None:
    outcomes = replace(record.outcomes, completed=0, in_flight_at_stop=8)
    spec = {**record.spec, "url": "https://h/", "requests_per_connection": "unlimited"}
    reported = lines(replace(record, spec=spec, outcomes=outcomes, requests=900), machine)
    assert next(iter(reported)) == "requests"
    assert "(900 requests in" in reported["requests"]
    assert reported["connections"] == "8 connections kept open"
    assert "µs per request" in reported["client CPU"]


def test_nothing_is_never_zero(record: RunRecord, machine: MachineUsage) -> None:
    nothing = replace(record.outcomes, completed=0)
    times = {name: replace(each, n=0) for name, each in record.summaries.items()}
    reported = lines(replace(record, outcomes=nothing, requests=0, summaries=times), machine)
    assert reported["connections"].startswith("- (none was completed in")
    assert reported["client CPU"] == "-"
    assert not any(name.endswith(" ms") for name in reported)


def test_a_valid_run_is_called_so_once(record: RunRecord, machine: MachineUsage) -> None:
    sentence = "valid: the generator was 12 % busy, and all 9 connections completed"
    valid = replace(record, verdicts=(Verdict("valid", sentence),))
    assert lines(valid, machine)["verdict"] == sentence
    assert _reason(0, valid) == "valid"
    late = replace(record, verdicts=(Verdict("late_arrivals", "arrivals were late"),))
    assert lines(late, machine)["verdict"] == "late_arrivals: arrivals were late"
    assert _reason(0, late) == "valid, with 1 remark above"
