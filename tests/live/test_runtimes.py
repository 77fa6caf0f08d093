"""The study of Java runtimes in small: Tomcat alone and behind nginx, and a broken JDK."""

import json
from pathlib import Path

import pytest

from live.harness import Tlslab, trials
from tlslab.servers.jdk import by_name, find_jdks

SMALL = """\
schema = "tlslab.experiment/2"
kind = "capacity"
name = "small"
title = "Does it work?"
published = "tomcat-2008"
blocks = 1

[factors]
server = ["tomcat"]
front = ["none", "nginx"]
jdk = ["jdk"]
connector = ["jsse"]
tls = ["1.3"]
key = ["rsa-2048"]
group = ["X25519"]

[baseline]
front = "none"

[workload]
document_bytes = 100
connections = 16
requests_per_connection = 1

[capacity]
fresh_server = false

[capacity.warm_up]
connections = 4
most = 3
steady = 2
width = 0.5
warmup_ms = 0
measure_ms = 500

[capacity.search]
first = 2
most = 4
step = 0.5
repeats = 1
warmup_ms = 0
measure_ms = 1500

[capacity.maximum]
trials = 1
warmup_ms = 0
measure_ms = 1500

[capacity.open_loop]
fractions = [0.5, 1.2]
trials = 1
connections = 200
warmup_ms = 0
measure_ms = 3000
"""


@pytest.fixture(name="broken")
def _broken(tmp_path: Path) -> Path:
    java = tmp_path / "broken-jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'libjvm.so: cannot open' >&2; exit 1\n", "utf-8")
    java.chmod(0o755)
    return tmp_path / "broken-jdk"


def test_each_runtime_is_measured_and_one_that_is_broken_costs_its_own_cells_only(
    tlslab: Tlslab, tmp_path: Path, broken: Path
) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    newest = list(by_name(find_jdks()))[-1]
    levels = ("--set", f"jdk={newest}", "--jdk", str(broken))
    # Starts four JVMs.
    ended = tlslab.finish(tlslab.start("run", "small.toml", *levels, "--out", "runs"), 280)
    folder = tmp_path / "runs"
    done = [json.loads(line) for line in trials(folder)]
    stages = {(t["factors"]["front"], t["factors"].get("stage")) for t in done if t["runs"]}
    for front in ("none", "nginx"):
        assert {(front, "warm_up"), (front, "search"), (front, "maximum")} <= stages, ended.err
    summary = json.loads((folder / "summary.json").read_text())
    cells = {(c["factors"]["front"], c["factors"]["jdk"]): c for c in summary["cells"]}
    for front in ("none", "nginx"):
        spoilt = cells[front, str(broken)]
        assert spoilt["verdict"] == "failed"
        assert "libjvm.so: cannot open" in spoilt["reasons"][0]["message"]
        facts = cells[front, newest]["negotiated"]
        assert (facts["tls"], facts["group"], facts["kind"]) == ("1.3", "X25519", "full")
    assert {"warm-up", "overload-at-once-120"} <= {each["id"] for each in summary["figures"]}
    assert {"warm-up-table"} <= {each["id"] for each in summary["tables"]}
    assert any("Connection time [ms]: connect" in each["text"] for each in summary["texts"])
    assert ended.code == 1
