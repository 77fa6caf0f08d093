"""Runs on connections kept open: values, bounds, rankings, and their place in reports."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from factories.page import Page
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.contract.record import CpuTime, Outcomes, WorkerUsage
from tlslab.domain.finding import Summary
from tlslab.domain.trial import Trial
from tlslab.domain.workload import KeepAlive, Window
from tlslab.experiment import load
from tlslab.report import render_html, render_text

QUICK = load("groups", "quick")
EXPERIMENT = replace(
    QUICK, workload=replace(QUICK.workload, keep_alive=KeepAlive(Window(100, 500), 128)), blocks=10
)
KEY = "tls=1.3,key=ecdsa-p256,group=X25519"


def summary_of(world: World | None = None) -> Summary:
    return summarise(made_run(world, experiment=EXPERIMENT))


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summary_of()


def test_a_request_has_its_own_rate_and_costs(summary: Summary) -> None:
    cell = summary.cell(KEY)
    assert (cell.verdict, cell.reasons) == ("valid", ())
    found = cell.estimates
    assert found["keep_alive_requests_per_s"].value == pytest.approx(0.985e6 / 20, rel=0.02)
    assert found["keep_alive_server_cpu_us_per_request"].value == pytest.approx(20, rel=0.02)
    assert found["keep_alive_client_cpu_us_per_request"].value == pytest.approx(9, rel=0.02)
    assert found["keep_alive_client_cpu_us_per_request_user"].value == pytest.approx(3.6, rel=0.02)
    rate = found["keep_alive_requests_per_s"].value
    assert found["keep_alive_bytes_per_s"].value == pytest.approx(rate * (4788 + 238), rel=0.001)
    assert found["keep_alive_server_memory_bytes"].value == 9_400_000
    assert found["connections_per_s"].value < rate / 10


def test_a_ranking_for_each_estimate_and_a_sentence(summary: Summary) -> None:
    assert {ranking.estimate for ranking in summary.rankings} == {
        "connections_per_s", "server_cpu_us_per_connection", "client_cpu_us_per_connection",
        "keep_alive_requests_per_s", "keep_alive_server_cpu_us_per_request",
        "keep_alive_client_cpu_us_per_request",
    }  # fmt: skip
    text = next(f.text for f in summary.findings if f.code == "kept_open")
    assert "on connections kept open" in text
    assert "A request costs the server" in text


def test_a_generator_that_was_the_limit_bounds_its_own_run_alone() -> None:
    def busy(trial: Trial) -> Trial:
        run = trial.runs["keep_alive"]
        cpu = CpuTime(round(run.record.seconds * 1e6), 0)
        record = replace(
            run.record, cpu=cpu, workers=(WorkerUsage(cpu, run.record.seconds, processor=1),)
        )
        return replace(trial, runs={**trial.runs, "keep_alive": replace(run, record=record)})

    summary = summary_of(World(change=busy))
    cell = summary.cell(KEY)
    assert cell.verdict == "valid"
    assert cell.lower_bounds == ("keep_alive_requests_per_s", "keep_alive_bytes_per_s")
    assert "keep_alive_client_saturated" in {note.code for note in cell.reasons}
    ranked = {ranking.estimate for ranking in summary.rankings}
    assert "keep_alive_requests_per_s" not in ranked
    assert "connections_per_s" in ranked
    assert "≥ " in Page(render_html(summary)).text


def test_a_connection_that_failed_makes_the_trial_unusable() -> None:
    def broken(trial: Trial) -> Trial:
        run = trial.runs["keep_alive"]
        record = replace(run.record, outcomes=Outcomes(128, 0, 127, {"reset": 1}, {}))
        return replace(trial, runs={**trial.runs, "keep_alive": replace(run, record=record)})

    cell = summary_of(World(change=broken)).cell(KEY)
    assert cell.verdict == "invalid"
    assert "keep_alive: connections failed: reset 1" in cell.reasons[0].message


def test_page_and_terminal_have_a_table_of_it(summary: Summary, quick_summary: Summary) -> None:
    text = Page(render_html(summary)).text
    assert "Connections kept open: 128 at once" in text
    console = Console(file=io.StringIO(), width=120)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    assert "connections kept open" in console.file.getvalue()
    assert "kept open" not in Page(render_html(quick_summary)).text


def test_handshakes_that_may_reach_into_the_measurement_leave_no_rate(summary: Summary) -> None:
    def hasty(trial: Trial) -> Trial:
        run = trial.runs["keep_alive"]
        record = replace(run.record, spec={**run.record.spec, "load": {}})
        return replace(trial, runs={**trial.runs, "keep_alive": replace(run, record=record)})

    found = summary_of(World(change=hasty)).cell(KEY)
    assert "keep_alive_requests_per_s" not in found.estimates
    assert "before all connections were open" in found.not_measurable["keep_alive_requests_per_s"]
    assert "connections_per_s" in found.estimates
    assert not summary.cell(KEY).not_measurable.get("keep_alive_requests_per_s")
