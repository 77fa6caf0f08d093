"""Several load generators on this machine, and real servers: one load, of which no part is lost."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from live.accounts import assert_accounts
from live.harness import (
    Own,
    Tlslab,
    assert_code_of_verdicts,
    assert_finished,
    makes_load,
    trials,
    wait_for_trials,
)
from live.jumping import JUMP_NS

# All stages, each long enough for a generator to be hit in the middle of it.
TINY = """\
schema = "tlslab.experiment/2"
kind = "capacity"
name = "tiny"
title = "Does it work?"
blocks = 1

[factors]
processors = [1]
tls = ["1.3"]
key = ["ecdsa-p256"]
group = ["X25519"]

[baseline]
processors = "1"

[workload]
document_bytes = 2048
connections = 16
requests_per_connection = 1

[capacity.search]
first = 4
most = 8
step = 0.5
repeats = 1
warmup_ms = 100
measure_ms = 1200

[capacity.maximum]
trials = 2
warmup_ms = 100
measure_ms = 1200

[capacity.open_loop]
fractions = [0.2, 0.6]
trials = 1
connections = 200
warmup_ms = 100
measure_ms = 1200
"""


@pytest.fixture(name="tiny")
def _tiny(tmp_path: Path) -> str:
    (tmp_path / "tiny.toml").write_text(TINY, "utf-8")
    return "tiny.toml"


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trials(folder)]


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of all runs; at least one."""
    found = [run["record"] for trial in read(folder) for run in trial["runs"].values()]
    assert found
    return found


def test_a_capacity_experiment_by_two_generators(tlslab: Tlslab, tiny: str, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    ended = tlslab.run(
        "run", tiny, "--target", "nginx", "--generators", "2", "--out", "r", "--details"
    )
    assert_finished(ended, folder)
    found = read(folder)
    assert {trial["status"] for trial in found} == {"done"}, ended.err
    assert {trial["factors"]["generators"] for trial in found} == {"2"}
    for record in records(folder):
        assert_accounts(record)
        assert [host["name"] for host in record["hosts"]] == ["local-1", "local-2"]
        assert all(host["found"]["clock"]["readings"] >= 2 for host in record["hosts"])
        assert record["spec"]["connections"] == sum(h["connections"] for h in record["hosts"])
        # One kernel has one clock: the offset is the error of the reading, and no clock jumps.
        clocks = [host["found"]["clock"] for host in record["hosts"]]
        assert all(abs(clock["offset_s"]) <= clock["uncertainty_s"] for clock in clocks)
        assert all(clock["moved_s"] == 0 for clock in clocks)
    report = (folder / "report.html").read_text("utf-8")
    for text in (ended.out, report):
        assert "local-1" in text
        assert "clock known to" in text
        assert "2 generators made the load of the maximum" in text


def hit(tlslab: Tlslab, sent: signal.Signals) -> int:
    """Sends a signal to the second generator of the current trial; returns its process id."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        running = tlslab.engines()
        if len(running) == 2 and all(makes_load(engine) for engine in running):
            try:
                running[1].send_signal(sent)
                running[0].status()
            except psutil.NoSuchProcess:
                continue
            return running[1].pid
        time.sleep(0.01)
    raise AssertionError("never two generators at once")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_generator_fails_its_trial_and_no_other(
    tlslab: Tlslab, tiny: str, tmp_path: Path, sent: signal.Signals
) -> None:
    folder = tmp_path / "r"
    line = ["run", tiny, "--target", "nginx", "--generators", "2", "--out", "r", "--details"]
    child = tlslab.start(*line)
    wait_for_trials(folder, 1)
    hit(tlslab, sent)
    ended = tlslab.finish(child)
    assert_code_of_verdicts(ended, folder)
    failed = [trial for trial in read(folder) if trial["status"] != "done"]
    assert [trial["reason"]["class"] for trial in failed] == ["host_lost"], ended.err
    assert "the generator local-2 was lost" in failed[0]["reason"]["message"]
    if sent == signal.SIGSTOP:
        # The other generator had measured to its end before the loss of this one was noticed.
        (run,) = failed[0]["runs"].values()
        assert_accounts(run["record"])
        assert "host_lost" in {verdict["code"] for verdict in run["record"]["verdicts"]}
    # Later trials had both generators again, and the search continued as if nothing had happened.
    last = read(folder)[-1]
    assert last["factors"]["stage"] == "open_loop"
    assert all(len(record["hosts"]) == 2 for record in records(folder))
    assert "the generator local-2 was lost" in ended.out


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_generator_is_kept_on_record_and_the_run_goes_on_without_it(
    tlslab: Tlslab, tiny: str, tmp_path: Path, sent: signal.Signals
) -> None:
    folder = tmp_path / "r"
    line = ["run", tiny, "--target", "nginx", "--generators", "2", "--out", "r", "--details"]
    child = tlslab.start(*line, "--on-lost-host", "keep")
    wait_for_trials(folder, 1)
    hit(tlslab, sent)
    ended = tlslab.finish(child)
    assert_code_of_verdicts(ended, folder)
    assert {trial["status"] for trial in read(folder)} == {"done"}, ended.err
    lost = [record for record in records(folder) if any(h["lost"] for h in record["hosts"])]
    assert len(lost) == 1
    (record,) = lost
    assert_accounts(record)
    assert record["verdicts"][0]["code"] == "host_lost"
    gone = record["hosts"][-1]
    assert gone["name"] == "local-2"
    assert ("SIGKILL" if sent == signal.SIGKILL else "said nothing") in gone["lost"]["reason"]
    after = records(folder)[records(folder).index(record) + 1 :]
    assert after
    assert all(len(each["hosts"]) == 1 for each in after)
    assert "lost in 1 run" in ended.out


def test_no_generator_outlives_a_lab_that_is_killed(
    tlslab: Tlslab, tiny: str, tmp_path: Path
) -> None:
    child = tlslab.start("run", tiny, "--target", "nginx", "--generators", "2", "--out", "r")
    wait_for_trials(tmp_path / "r", 1)
    deadline = time.monotonic() + 30
    while len(tlslab.engines()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    child.kill()
    child.communicate()
    tlslab.assert_nothing_left()


def test_a_matrix_by_two_generators(tlslab: Tlslab, small: Any, tmp_path: Path) -> None:
    ended = tlslab.run("run", small(blocks=1), "--generators", "2", "--out", "r")
    assert_finished(ended, tmp_path / "r")
    for record in records(tmp_path / "r"):
        assert_accounts(record)
        assert len(record["hosts"]) == 2


def test_a_clock_that_jumps_makes_its_runs_invalid_and_names_the_host(
    tlslab: Tlslab, small: Any, tmp_path: Path
) -> None:
    folder, jump_s = tmp_path / "r", JUMP_NS / 1e9
    path = ":".join(filter(None, (os.environ.get("PYTHONPATH"), str(Path(__file__).parents[1]))))
    wanted = ["run", small(blocks=1), "--generators", "2", "--out", "r", "--details"]
    ended = tlslab.run(*wanted, module="live.jumping", PYTHONPATH=path)
    assert ended.code == 1, ended.err
    for record in records(folder):
        assert_accounts(record)
        objections = {verdict["code"]: verdict["message"] for verdict in record["verdicts"]}
        assert "local-2: its clock moved by" in objections["clock_moved"]
        steady, jumped = record["hosts"]
        assert "clock_moved" not in {verdict["code"] for verdict in steady["verdicts"]}
        assert "clock_moved" in {verdict["code"] for verdict in jumped["verdicts"]}
        assert steady["found"]["clock"]["moved_s"] == 0
        assert jump_s / 2 < jumped["found"]["clock"]["moved_s"] <= jump_s
        assert jumped["start_skew_s"] < jump_s / 2, "the jump came after the start"
    summary = json.loads((folder / "summary.json").read_text())
    assert {cell["verdict"] for cell in summary["cells"]} == {"invalid"}
    for cell in summary["cells"]:
        (words,) = [note["message"] for note in cell["reasons"] if note["code"] == "clock_moved"]
        assert "local-2: its clock moved by" in words
    report = (folder / "report.html").read_text("utf-8")
    for text in (ended.out, report):
        assert "local-2: its clock moved by" in text


def test_load_by_three_generators(tlslab: Tlslab, own_reference: Own, tmp_path: Path) -> None:
    load = ["-c", "9", "-d", "1s", "--ca", str(own_reference.ca), own_reference.url]
    ended = tlslab.run("load", "--generators", "3", "--json", "-o", "r.json", *load)
    record = json.loads(ended.out)
    assert_accounts(record)
    assert [host["connections"] for host in record["hosts"]] == [3, 3, 3]
    assert json.loads((tmp_path / "r.json").read_text()) == record
    assert ended.code == (0 if record["verdicts"][0]["code"] == "valid" else 1)
    shown = tlslab.run("load", "--generators", "3", *load)
    assert "  local-3 " in shown.out
    assert "µs per connection (" in shown.out
    short = ["-d", "2s", *load[:2], *load[4:]]
    events = tlslab.run("load", "--generators", "2", "--events", "--rate", "300", *short)
    said = [json.loads(line) for line in events.err.splitlines() if line.startswith("{")]
    progress = [event for event in said if event["event"] == "progress"]
    assert [host["host"] for host in progress[0]["hosts"]] == ["local-1", "local-2"]
    assert progress[0]["completed"] == sum(host["completed"] for host in progress[0]["hosts"])


def test_arrivals_of_two_generators_are_those_of_one_process(
    tlslab: Tlslab, own_reference: Own
) -> None:
    load = ["--rate", "200", "--arrivals", "poisson", "-c", "50", "-d", "2s", "--seed", "7"]
    trust = ["--ca", str(own_reference.ca), own_reference.url]
    ended = tlslab.run("load", "--generators", "2", "--json", *load, *trust)
    record = json.loads(ended.out)
    assert record["spec"]["load"]["rate"]["constant"] == pytest.approx(200)
    # A Poisson process has 400 arrivals with a standard deviation of 20.
    assert 300 < record["open_loop"]["arrivals"] < 500
    arrivals = [host["open_loop"]["arrivals"] for host in record["hosts"]]
    assert sum(arrivals) == record["open_loop"]["arrivals"]
    # With even spacing, or with one seed, both would have the same number.
    assert abs(arrivals[0] - arrivals[1]) > 2
    assert record["summaries"]["start_delay"]["n"] == record["open_loop"]["started"]


def test_an_interrupted_load_keeps_what_was_measured(tlslab: Tlslab, own_reference: Own) -> None:
    line = ["load", "--generators", "2", "--json", "-d", "60s", "-c", "4", "--insecure"]
    child = tlslab.start(*line, own_reference.url)
    assert child.stderr is not None
    child.stderr.readline()
    child.send_signal(signal.SIGINT)
    ended = tlslab.finish(child)
    assert ended.code == 130, ended.err
    record = json.loads(ended.out)
    assert_accounts(record)
    assert record["outcomes"]["completed"] > 0
    assert "interrupted" in {verdict["code"] for verdict in record["verdicts"]}


def test_a_load_that_loses_a_generator_keeps_what_was_measured(
    tlslab: Tlslab, own_reference: Own, tmp_path: Path
) -> None:
    line = ["load", "--generators", "2", "-o", "lost.json", "-d", "60s", "-c", "4", "--insecure"]
    child = tlslab.start(*line, own_reference.url)
    assert child.stderr is not None
    child.stderr.readline()
    tlslab.engines()[1].kill()
    ended = tlslab.finish(child)
    assert ended.code == 1, ended.err
    assert "the generator local-2 was lost" in ended.err
    record = json.loads((tmp_path / "lost.json").read_text("utf-8"))
    assert_accounts(record)
    assert record["outcomes"]["completed"] > 0
    assert [host["name"] for host in record["hosts"] if host["lost"]] == ["local-2"]
    assert "host_lost" in {verdict["code"] for verdict in record["verdicts"]}


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (["load", "--generators", "2", "https://192.0.2.7/"], 3, "refused to load 192.0.2.7"),
        (["load", "--generators", "2", "-c", "0", "https://127.0.0.1:9/"], 2, "connections"),
        (["load", "--generators", "2", "probe", "127.0.0.1"], 2, "is for a load"),
        (["load", "--generators", "none", "https://127.0.0.1:9/"], 2, "not a number of generators"),
        (["run", "concurrency", "--generators", "2", "--dry-run"], 2, "not for concurrency"),
        (["run", "groups", "--generators", "0", "--dry-run"], 2, "not a number of generators"),
        (["run", "groups", "--on-lost-host", "wait", "--dry-run"], 2, "fail or keep"),
    ],
)
def test_what_cannot_be_loaded_by_several_is_one_line(
    tlslab: Tlslab, line: list[str], code: int, words: str
) -> None:
    ended = tlslab.run(*line, XDG_CONFIG_HOME="/none")
    assert ended.code == code, ended.err
    assert len(ended.errors) == 1, ended.err
    assert words in ended.errors[0]
