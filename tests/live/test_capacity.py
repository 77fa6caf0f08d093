"""Capacity experiments on real servers: all stages, obsolete settings, a comparison of two runs."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from live.drawn import OF_VERDICTS, drawn
from live.harness import Ended, Tlslab, trials, wait_for_trials

# All stages, each as short as possible: for facts and counts, not for times.
TINY = """\
schema = "tlslab.experiment/2"
kind = "capacity"
name = "tiny"
title = "Does it work?"
published = "coradiant-2001"
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

[capacity]
objective = "p99<50ms"

[capacity.search]
first = 2
most = 8
step = 0.5
repeats = 1
warmup_ms = 0
measure_ms = 200

[capacity.maximum]
trials = 2
warmup_ms = 0
measure_ms = 200

[capacity.open_loop]
fractions = [0.2, 0.6]
trials = 1
connections = 200
warmup_ms = 0
measure_ms = 300
"""

REMEDIES = """
[capacity.remedies]
resume = "psk"
resume_ratios = [0.0, 0.9]
requests_per_connection = [1, 8]
trials = 1
warmup_ms = 0
measure_ms = 200

[capacity.validation]
fractions = [0.2]
warmup_ms = 0
measure_ms = 300
"""

OBSOLETE = """
[capacity.obsolete]
levels = { server = "reference", processors = "1", tls = "ssl3", key = "rsa-1024", suite = "TLS_RSA_WITH_RC4_128_MD5" }
"""  # noqa: E501


@pytest.fixture(name="tiny")
def _tiny(tmp_path: Path) -> str:
    (tmp_path / "tiny.toml").write_text(TINY, "utf-8")
    return "tiny.toml"


def steps(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trials(folder)]


def of(folder: Path, stage: str) -> list[dict[str, Any]]:
    return [trial for trial in steps(folder) if trial["factors"]["stage"] == stage]


def assert_reported(ended: Ended, folder: Path) -> dict[str, Any]:
    """Checks that the exit code matches the verdicts; returns the summary."""
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    verdicts = {cell["verdict"] for cell in summary["cells"]}
    assert ended.code == (0 if verdicts <= {"valid", "at_least", "unsupported"} else 1), ended.err
    assert (folder / "report.html").stat().st_size > 0
    return summary


def test_every_stage_on_the_reference_server(tlslab: Tlslab, tiny: str, tmp_path: Path) -> None:
    (tmp_path / tiny).write_text(TINY + REMEDIES, "utf-8")
    ended = tlslab.run("run", tiny, "--out", "r", "--objective", "p99<2s")
    summary = assert_reported(ended, tmp_path / "r")
    found = steps(tmp_path / "r")
    assert {trial["status"] for trial in found} == {"done"}, ended.err
    stages = list(dict.fromkeys(trial["factors"]["stage"] for trial in found))
    assert stages == ["search", "maximum", "open_loop", "remedy", "validation"]
    assert len(of(tmp_path / "r", "maximum")) == 2
    for trial in found:
        for run in trial["runs"].values():
            outcomes = run["record"]["outcomes"]
            ended_ = outcomes["completed"] + sum(outcomes["failed"].values())
            ended_ += sum(outcomes["unexpected"].values())
            assert outcomes["attempts"] == ended_ + outcomes["in_flight_at_stop"]
            assert run["server"]["user_us"] + run["server"]["system_us"] > 0
    assert str(summary["experiment"]["workload"]["capacity"]["objective"]) == "p99<2000ms"
    figures = {figure["id"] for figure in summary["figures"]}
    assert "search" in figures
    assert figures & OF_VERDICTS == drawn(summary, found)
    tables = {table["id"] for table in summary["tables"]}
    assert {"maxima", "loads-0", "remedies-0", "published"} <= tables


def test_open_loops_run_at_whole_fractions_and_keep_their_arrivals(
    tlslab: Tlslab, tiny: str, tmp_path: Path
) -> None:
    (tmp_path / tiny).write_text(TINY + OBSOLETE, "utf-8")
    assert_reported(tlslab.run("run", tiny, "--target", "nginx", "--out", "r"), tmp_path / "r")
    # Without --allow-obsolete there is no cell that needs it.
    assert {trial["factors"]["tls"] for trial in steps(tmp_path / "r")} == {"1.3"}
    maxima = of(tmp_path / "r", "maximum")
    records = [trial["runs"]["maximum"]["record"] for trial in maxima]
    rates = [record["outcomes"]["completed"] / record["seconds"] for record in records]
    mean = (rates[0] * rates[1]) ** 0.5
    loops = of(tmp_path / "r", "open_loop")
    assert {trial["factors"]["fraction"] for trial in loops} == {"0.2", "0.6"}
    for trial in loops:
        assert abs(int(trial["factors"]["rate"]) - mean * float(trial["factors"]["fraction"])) < 1
        loop = trial["runs"]["load"]["record"]["open_loop"]
        assert loop["arrivals"] == loop["started"] + loop["waiting_at_stop"]


def test_remedies_resume_as_asked_and_keep_connections(
    tlslab: Tlslab, tiny: str, tmp_path: Path
) -> None:
    (tmp_path / tiny).write_text(TINY + REMEDIES.partition("[capacity.validation]")[0], "utf-8")
    assert_reported(tlslab.run("run", tiny, "--target", "nginx", "--out", "r"), tmp_path / "r")
    remedies = {
        (t["factors"].get("resume_ratio"), t["factors"].get("requests_per_connection")): t
        for t in of(tmp_path / "r", "remedy")
    }
    assert len(remedies) == 4
    kinds = {key: t["runs"]["remedy"]["record"]["kinds"] for key, t in remedies.items()}
    assert kinds["0.0", None]["resumed"] == 0
    assert kinds["0.9", None]["resumed"] > 5 * kinds["0.9", None]["full"]
    assert kinds[None, "8"]["resumed"] == 0
    record = remedies[None, "8"]["runs"]["remedy"]["record"]
    assert record["requests"] > 6 * record["outcomes"]["completed"]
    visits = {key: t["factors"]["visit"] for key, t in remedies.items()}
    assert visits["0.0", None] == visits["0.9", None] != visits[None, "8"]


def test_the_point_of_history_needs_to_be_allowed(
    tlslab: Tlslab, tiny: str, tmp_path: Path
) -> None:
    (tmp_path / tiny).write_text(TINY + OBSOLETE, "utf-8")
    ended = tlslab.run("run", tiny, "--out", "r", "--allow-obsolete", "--details")
    summary = assert_reported(ended, tmp_path / "r")
    old = [trial for trial in steps(tmp_path / "r") if trial["factors"]["tls"] == "ssl3"]
    assert {trial["status"] for trial in old} == {"done"}, ended.err
    for trial in old:
        for run in trial["runs"].values():
            (facts,) = run["record"]["facts"]
            assert (facts["tls"], facts["suite"]) == ("ssl3", "TLS_RSA_WITH_RC4_128_MD5")
            assert facts["kind"] == "full"
            assert run["record"]["preflight"]["certificate"]["key"] == "RSA-1024"
    assert len(summary["cells"]) == 2
    assert "SSL 3.0" in ended.out
    refused = tlslab.run("run", tiny, "--target", "https://localhost:1/", "--allow-obsolete")
    assert (refused.code, len(refused.errors)) == (2, 1)


def test_an_interrupted_run_goes_on(tlslab: Tlslab, tiny: str, tmp_path: Path) -> None:
    child = tlslab.start("run", tiny, "--out", "r", "--seed", "3")
    wait_for_trials(tmp_path / "r", 3)
    child.send_signal(signal.SIGINT)
    ended = tlslab.finish(child)
    assert ended.code == 130
    assert (tmp_path / "r" / "summary.json").exists()
    before = trials(tmp_path / "r")
    assert_reported(tlslab.run("run", tiny, "--resume", "r", "--seed", "3"), tmp_path / "r")
    after = trials(tmp_path / "r")
    assert after[: len(before)] == before
    assert len(of(tmp_path / "r", "maximum")) == 2
    assert len(of(tmp_path / "r", "open_loop")) == 2


def test_two_runs_are_laid_over_each_other(tlslab: Tlslab, tiny: str, tmp_path: Path) -> None:
    for target in ("reference", "nginx"):
        assert_reported(
            tlslab.run("run", tiny, "--target", target, "--out", target), tmp_path / target
        )
    ended = tlslab.run("compare", "reference", "nginx", "--out", "both", "--details")
    assert ended.code == 0, ended.err
    assert "nginx over reference" in ended.out
    assert "Absolute rates depend on" in ended.out
    both = json.loads((tmp_path / "both" / "summary.json").read_text())
    assert "search" in {figure["id"] for figure in both["figures"]}
    assert (tmp_path / "both" / "report.html").stat().st_size > 0
    refused = tlslab.run("compare", "reference", "nowhere")
    assert (refused.code, len(refused.errors)) == (3, 1)
    refused = tlslab.run("compare", "reference", "nginx", "--out", "nginx")
    assert (refused.code, len(refused.errors)) == (2, 1)


def test_options_for_other_kinds_are_refused(tlslab: Tlslab) -> None:
    refused = tlslab.run("run", "groups", "--objective", "p99<50ms")
    assert (refused.code, len(refused.errors)) == (2, 1)
