"""Experiments over several servers, fronts and versions of HTTP, and connections kept open."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from live.harness import Tlslab, assert_finished, measured, trials, wait_for_trials
from live.studies import OF_THE_MACHINE

Small = Callable[..., str]

KEEP_ALIVE = """
[workload.keep_alive]
warmup_ms = 100
measure_ms = 200
connections = 6
"""


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trials(folder)]


def environment(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "environment.json").read_text())
    return loaded


def test_a_server_is_measured_direct_and_behind_fronts_in_one_run(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    arguments = ["--target", "nginx,apache", "--set", "front=none,haproxy,nginx", "--seed", "3"]
    ended = tlslab.run("run", small(), *arguments, "--set", "group=P-256", "--out", "r")
    assert_finished(ended, tmp_path / "r")
    deployed = environment(tmp_path / "r")["deployments"]
    software = {each["target"]["name"]: each["target"]["software"] for each in deployed}
    assert set(software) == {
        "nginx", "haproxy+nginx", "nginx+nginx", "apache", "haproxy+apache", "nginx+apache",
    }  # fmt: skip
    assert "haproxy" in software["haproxy+apache"].lower()
    assert "apache" in software["haproxy+apache"].lower()
    processes: dict[tuple[str, str], set[int]] = {}
    for trial in read(tmp_path / "r"):
        place = (trial["factors"]["server"], trial["factors"]["front"])
        for run in trial["runs"].values():
            processes.setdefault(place, set()).add(run["server"]["processes"])
            assert run["server"]["user_us"] + run["server"]["system_us"] > 0
            # nginx replaces the server's name on responses that it forwards, HAProxy keeps it.
            named = "nginx" if place[1] == "nginx" else place[0]
            assert run["record"]["preflight"]["server"].lower().startswith(named)
    for _, run in measured(tmp_path / "r"):
        assert {fact["group"] for fact in run["record"]["facts"]} == {"P-256"}
    for server in ("nginx", "apache"):
        for front in ("haproxy", "nginx"):
            assert min(processes[server, front]) > max(processes[server, "none"])
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Servers beside each other" in page
    assert "apache behind haproxy" in page


def test_each_server_has_its_own_certificate(tlslab: Tlslab, small: Small, tmp_path: Path) -> None:
    path = tmp_path / small(blocks=1)
    exclusions = "".join(
        f'\n[[exclude]]\nwhen = {{ server = "{server}", key = "{key}" }}\nreason = "not there"\n'
        for server, key in (("nginx", "rsa-*"), ("reference", "ecdsa-*"))
    )
    path.write_text(path.read_text() + exclusions)
    levels = ["--set", "key=ecdsa-p256,rsa-2048", "--target", "nginx", "--target", "reference"]
    ended = tlslab.run("run", path.name, *levels, "--out", "r")
    assert_finished(ended, tmp_path / "r")
    keys = {
        (trial["factors"]["server"], run["record"]["preflight"]["certificate"]["key"])
        for trial in read(tmp_path / "r")
        for run in trial["runs"].values()
    }
    assert keys == {("nginx", "ECDSA P-256"), ("reference", "RSA-2048")}


def test_connections_that_are_kept_open_carry_requests_and_none_ends(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    path = tmp_path / small(blocks=1)
    path.write_text(path.read_text() + KEEP_ALIVE)
    levels = ["--set", "http=1.1,2", "--set", "group=X25519", "--target", "nginx"]
    ended = tlslab.run("run", path.name, *levels, "--out", "r")
    assert_finished(ended, tmp_path / "r")
    found = read(tmp_path / "r")
    assert {trial["factors"]["http"] for trial in found} == {"1.1", "2"}
    for trial in found:
        by_http: dict[str, set[str | None]] = {"1.1": {"http/1.1", None}, "2": {"h2"}}
        alpn = by_http[trial["factors"]["http"]]
        assert {fact["alpn"] for fact in trial["runs"]["capacity"]["record"]["facts"]} <= alpn
        record = trial["runs"]["keep_alive"]["record"]
        assert record["outcomes"] == {
            "attempts": 6, "completed": 0, "in_flight_at_stop": 6, "failed": {}, "unexpected": {},
            "reasons": [], "lost_with_host": 0, "closed_idle": 0, "abandoned": 0,
        }  # fmt: skip
        assert record["requests"] > 0
        assert record["bytes"]["body"] == 100 * record["requests"]
        assert record["preflight"]["facts"]["alpn"] in alpn
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    for cell in summary["cells"]:
        if not cell["trials"]:
            assert {note["code"] for note in cell["reasons"]} & OF_THE_MACHINE
            continue
        assert cell["estimates"]["keep_alive_requests_per_s"]["value"] > 0
        assert cell["estimates"]["keep_alive_server_memory_bytes"]["unit"] == "B"


def test_a_servers_processors_and_ways_to_resume_are_factors(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    levels = ["--set", "resume=none,psk", "--set", "processors=1,2,999", "--set", "group=X25519"]
    ended = tlslab.run(
        "run", small(blocks=1, measure_ms=500), *levels, "--set", "connections=3", "--out", "r"
    )
    assert_finished(ended, tmp_path / "r")
    found = read(tmp_path / "r")
    assert {(t["factors"]["processors"], t["factors"]["resume"]) for t in found} == {
        ("1", "none"), ("1", "psk"), ("2", "none"), ("2", "psk"),
    }  # fmt: skip
    for trial in found:
        record = trial["runs"]["capacity"]["record"]
        assert record["spec"]["connections"] == 3
        kinds = {fact["kind"] for fact in record["facts"]}
        assert kinds == ({"resumed"} if trial["factors"]["resume"] == "psk" else {"full"})
    pinned = {
        each["deployment"]["processors"]: each["target"]["processors"]
        for each in environment(tmp_path / "r")["deployments"]
    }
    assert (len(pinned[1]), len(pinned[2])) == (1, 2)
    plan = json.loads((tmp_path / "r" / "plan.json").read_text())
    assert all("999 are asked for" in each["reason"] for each in plan["excluded"])
    assert plan["excluded"]


def test_a_run_over_two_servers_is_resumed_where_it_was_interrupted(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    arguments = ["run", small(blocks=2), "--target", "nginx,reference"]
    child = tlslab.start(*arguments, "--out", "r")
    wait_for_trials(tmp_path / "r", 3)
    child.send_signal(signal.SIGINT)
    ended = tlslab.finish(child)
    assert ended.code == 130, ended.err
    before = trials(tmp_path / "r")
    ended = tlslab.run(*arguments, "--resume", "r")
    assert_finished(ended, tmp_path / "r")
    after = trials(tmp_path / "r")
    assert after[: len(before)] == before
    numbers = [json.loads(line)["trial"] for line in after]
    assert numbers == list(range(8))


def test_servers_that_nobody_knows_or_that_cannot_be_in_front_are_reported(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    ended = tlslab.run("run", small(), "--target", "nginx,iis", "--out", "r")
    assert ended.code == 2
    assert "unknown target 'iis'" in ended.errors[0]
    ended = tlslab.run("run", small(), "--target", "nginx,https://127.0.0.1:1/", "--out", "r")
    assert ended.code == 2
    levels = ["--set", "front=reference", "--target", "nginx"]
    ended = tlslab.run("run", small(), *levels, "--out", "r")
    assert ended.code == 2
    assert "cannot terminate TLS before another server" in ended.errors[0]
    assert not (tmp_path / "r").exists()
