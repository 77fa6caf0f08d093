"""Whole runs, from the command line to the report."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from live.harness import Own, Tlslab, assert_finished, measured, trials

Small = Callable[..., str]


@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_a_run_ends_with_a_summary_and_a_report(
    tlslab: Tlslab, small: Small, target: str, tmp_path: Path
) -> None:
    ended = tlslab.run("run", small(), "--target", target, "--out", "r", "--seed", "7")
    folder = tmp_path / "r"
    assert_finished(ended, folder)
    names = {path.name for path in folder.iterdir()}
    # Disturbed trials are measured again, and kept apart.
    again = any(json.loads(line)["attempts"] > 1 for line in trials(folder))
    assert names == {
        "experiment.toml", "environment.json", "plan.json", "trials.jsonl", "summary.json",
        "report.html", ".lock", *(["set_aside.jsonl"] if again else []),
    }  # fmt: skip
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["schema"] == "tlslab.summary/3"
    assert {cell["factors"]["group"] for cell in summary["cells"]} == {"X25519", "P-256"}
    assert summary["experiment"]["seed"] == 7


@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_a_workload_over_http_2_is_that_on_every_connection(
    tlslab: Tlslab, small: Small, target: str, tmp_path: Path
) -> None:
    path = tmp_path / small()
    once = "requests_per_connection = 1"
    often = 'requests_per_connection = 20\nhttp = "2"\nstreams = 5'
    path.write_text(path.read_text().replace(once, often))
    ended = tlslab.run("run", path.name, "--target", target, "--out", "r")
    assert_finished(ended, tmp_path / "r")
    for _, run in measured(tmp_path / "r"):
        record = run["record"]
        assert {fact["alpn"] for fact in record["facts"]} == {"h2"}
        # Each of the 8 connections may be cut by the start or the end of the measurement.
        cut = record["requests"] - 20 * record["outcomes"]["completed"]
        assert abs(cut) <= 8 * 20
        assert record["bytes"]["body"] == 100 * record["requests"]


@pytest.mark.parametrize(
    ("target", "warm_up_ms", "fresh_per_trial", "reported"),
    [
        ("node", 5_000, True, "node 5 s, anew for each trial"),
        ("tomcat", 12_000, False, "tomcat 12 s"),
    ],
)
def test_a_fresh_runtime_is_under_load_before_its_first_trial(
    target: str,
    warm_up_ms: int,
    fresh_per_trial: bool,
    reported: str,
    tlslab: Tlslab,
    small: Small,
    tmp_path: Path,
) -> None:
    once = (small(blocks=1), "--set", "group=X25519")
    ended = tlslab.run("run", *once, "--target", target, "--out", "r")
    assert_finished(ended, tmp_path / "r")
    environment = json.loads((tmp_path / "r" / "environment.json").read_text())
    assert environment["target"]["warm_up_ms"] == warm_up_ms
    assert environment["target"]["fresh_per_trial"] == fresh_per_trial
    begun = datetime.fromisoformat(environment["created"])
    first = datetime.fromisoformat(json.loads(trials(tmp_path / "r")[0])["started"])
    assert (first - begun).total_seconds() >= warm_up_ms / 1000
    assert reported in (tmp_path / "r" / "report.html").read_text()


def test_every_connection_of_a_trial_is_in_its_accounting(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    assert_finished(tlslab.run("run", small(), "--out", "r"), tmp_path / "r")
    used_us = 0
    for line in trials(tmp_path / "r"):
        trial = json.loads(line)
        assert trial["status"] == "done"
        for run in trial["runs"].values():
            outcomes = run["record"]["outcomes"]
            ended = outcomes["completed"] + sum(outcomes["failed"].values())
            ended += sum(outcomes["unexpected"].values())
            assert outcomes["attempts"] == ended + outcomes["in_flight_at_stop"]
            assert sum(outcomes["unexpected"].values()) == 0
            facts = run["record"]["facts"]
            assert sum(fact["count"] for fact in facts) == outcomes["completed"]
            used_us += run["server"]["user_us"]
    for trial, run in measured(tmp_path / "r"):
        facts = run["record"]["facts"]
        assert {fact["group"] for fact in facts} == {trial["factors"]["group"]}
        assert {fact["kind"] for fact in facts} == {"full"}
    # A single window may be shorter than the kernel's tick of processor time.
    assert used_us > 0


@pytest.mark.capability("accounting: nginx counts what the client counts")
def test_the_servers_own_count_agrees_with_the_clients(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    """The two count at slightly different times, so that connections in flight may differ."""
    wanted = small(measure_ms=1000, cost_ms=1000)
    assert_finished(tlslab.run("run", wanted, "--out", "r"), tmp_path / "r")
    for line in trials(tmp_path / "r"):
        for run in json.loads(line)["runs"].values():
            completed = run["record"]["outcomes"]["completed"]
            slack = 0.2 * completed + 2 * run["record"]["spec"]["connections"]
            assert abs(run["server"]["handshakes"] - completed) <= slack


def test_a_server_that_the_lab_did_not_start_is_measured_as_it_is(
    tlslab: Tlslab, small: Small, own_nginx: Own, tmp_path: Path
) -> None:
    """The server has RSA only: the cells become RSA cells, and the ECDSA cells have a reason."""
    url = own_nginx.url
    wanted = small(measure_ms=500)
    ended = tlslab.run("run", wanted, "--target", url, "--ca", str(own_nginx.ca), "--out", "r")
    assert_finished(ended, tmp_path / "r")
    plan = json.loads((tmp_path / "r" / "plan.json").read_text())
    assert {cell["factors"]["key"] for cell in plan["cells"]} == {"rsa-2048"}
    reasons = {excluded["reason"] for excluded in plan["excluded"]}
    assert reasons == {"the server serves rsa-2048, not ecdsa-p256"}
    assert own_nginx.running.process.alive()
    first = json.loads(trials(tmp_path / "r")[0])
    # Its process tree is found by the listening socket (ADR 0064).
    server = first["runs"]["capacity"]["server"]
    assert server["source"] == "process_tree"
    assert server["user_us"] + server["system_us"] > 0


@pytest.mark.capability("a group that the server lacks is a result")
def test_a_group_that_nginx_lacks_is_left_out_with_nginxs_reason(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    wanted = "group=X25519,ffdhe2048,MLKEM768"
    ended = tlslab.run("run", small(blocks=1), "--target", "nginx", "--set", wanted, "--out", "r")
    assert_finished(ended, tmp_path / "r")
    plan = json.loads((tmp_path / "r" / "plan.json").read_text())
    reasons = {excluded["factors"]["group"]: excluded["reason"] for excluded in plan["excluded"]}
    assert "nginx" in reasons["MLKEM768"]


def test_reports_are_made_from_the_folder_alone(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    assert_finished(tlslab.run("run", small(blocks=1), "--out", "r"), tmp_path / "r")
    (tmp_path / "small.toml").unlink()
    (tmp_path / "r" / "summary.json").unlink()
    for form in ("text", "html", "json", "ab"):
        ended = tlslab.run("report", "r", "--format", form)
        assert ended.code == 0, ended.err
        assert "X25519" in ended.out
    assert json.loads(tlslab.run("report", "r", "--format", "json").out)["schema"]
    assert not (tmp_path / "r" / "summary.json").exists()


def test_doctor_and_experiments_say_what_there_is(tlslab: Tlslab) -> None:
    ended = tlslab.run("doctor")
    assert ended.code == 0
    assert "open files allowed" in ended.out
    assert "groups" in tlslab.run("experiments").out


def test_load_is_the_engine_with_the_machines_accounting(
    tlslab: Tlslab, own_reference: Own
) -> None:
    arguments = ["-n", "20", "-c", "2", "--ca", str(own_reference.ca), own_reference.url]
    ended = tlslab.run("load", *arguments)
    assert ended.code == 0, ended.err
    assert "processors busy" in ended.out
    assert "20 connections completed" in ended.out


def test_a_run_goes_on_in_sittings(tlslab: Tlslab, small: Small, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    name = small(blocks=2, measure_ms=600, cost_ms=600)
    assert_finished(tlslab.run("run", name, "--out", "r"), folder)
    path = folder / "trials.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
    second = tlslab.run("run", "--resume", "r", "--budget", "1s")
    assert second.code == 4
    assert "the rest: tlslab run --resume r" in second.err
    assert "the budget is spent" in second.err
    assert_finished(tlslab.run("run", "--resume", "r", "--budget", "1h"), folder)
    made = [json.loads(line) for line in trials(folder)]
    assert [(each["trial"], each["sitting"]) for each in made] == [(0, 0), (1, 1), (2, 2), (3, 2)]
    sittings = (folder / "sittings.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in sittings] == [1, 2]
    # All on one machine: there is nothing to say of several.
    summary = json.loads((folder / "summary.json").read_text())
    assert "machines" not in {finding["code"] for finding in summary["findings"]}
