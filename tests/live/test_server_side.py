"""The processor time of servers that the lab did not start, by each source, against real ones."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from live.exporters import machine_of, node_exporter
from live.harness import Own, Tlslab, assert_finished, trials
from tlslab.lab.metering.exporter import Exporter
from tlslab.lab.metering.side import Side, SideMeter
from tlslab.servers.programs import require_program

Small = Callable[..., str]

COST = "server_cpu_us_per_connection"


def run(tlslab: Tlslab, small: Small, own: Own, *more: str, **sizes: int) -> list[dict[str, Any]]:
    """A small experiment against a server that the test has started; its trials."""
    target = ["--target", own.url, "--ca", str(own.ca), "--out", "out"]
    ended = tlslab.run("run", small(**sizes), *target, *more)
    assert_finished(ended, tlslab.folder / "out")
    return [json.loads(line) for line in trials(tlslab.folder / "out")]


def summary(tlslab: Tlslab) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tlslab.folder / "out" / "summary.json").read_text())
    return found


@pytest.mark.parametrize("server", ["own_nginx", "own_reference"])
def test_a_local_server_is_found_by_its_socket(
    tlslab: Tlslab, small: Small, server: str, request: pytest.FixtureRequest
) -> None:
    own = request.getfixturevalue(server)
    tree = {process.pid for process in own.running.process.tree()}
    # In a shorter window the lab may read its counters once only.
    for trial in run(tlslab, small, own, measure_ms=500, cost_ms=500):
        for each in trial["runs"].values():
            assert each["side"]["used"] == "process_tree"
            assert each["server"]["processes"] == len(tree)
            assert each["server"]["user_us"] + each["server"]["system_us"] > 0
            assert each["server"]["memory_bytes"] > 100_000
    found = summary(tlslab)
    assert all(cell["estimates"][COST]["value"] > 0 for cell in found["cells"])
    assert "found by the listening socket" in found["server_side"]["Server's processor time"]
    assert "found by the listening socket" in (tlslab.folder / "out" / "report.html").read_text()


def test_a_real_node_exporter_counts_what_the_kernel_counts(
    tmp_path: Path, own_reference: Own
) -> None:
    """Processor seconds of the whole machine over one load, by each of the two sources."""
    load = [require_program("tlslab-load"), "--json", "-c", "8", "-d", "3s", "--warmup", "0ms"]
    place = own_reference.url.split("/")[2].replace("localhost", "127.0.0.1")
    with node_exporter(tmp_path) as url:
        exporter = Exporter.find(url)
        assert exporter.own
        meter = SideMeter(Side(exporter))
        meter.locate(place)
        try:
            meter.start()
            done = subprocess.run(
                [*load, "--ca", str(own_reference.ca), own_reference.url], stdout=subprocess.PIPE
            )
            meter.end()
        finally:
            meter.close()
        usage, side = meter.result()
        assert meter._scrapes is not None
        window, _ = meter._scrapes.windows()
    assert json.loads(done.stdout)["outcomes"]["completed"] > 0
    kernel = meter.meter.machine()
    theirs = window.spent(("user", "nice", "system", "irq", "softirq"))
    assert theirs == pytest.approx((kernel.user_us + kernel.system_us) / 1e6, rel=0.15)
    assert window.processor_count == len(kernel.per_processor)
    # The generator is on the same machine: only the server's processes count.
    assert usage is not None
    assert side.used == "process_tree"
    assert usage.user_us + usage.system_us <= 1.15e6 * theirs


def test_the_exporter_of_another_machine_counts(
    tlslab: Tlslab, small: Small, own_reference: Own
) -> None:
    """On a machine whose only work is the server, both sources must agree."""
    with machine_of(own_reference.running.process.tree) as machine:
        done = run(
            tlslab, small, own_reference, "--server-metrics", machine.url,
            "--set", "group=X25519", measure_ms=2000,
        )  # fmt: skip
    for trial in done:
        each = trial["runs"]["capacity"]
        sources = {source["source"]: source for source in each["side"]["sources"]}
        assert each["side"]["used"] == "node_exporter"
        assert each["side"]["processors_by"] == "node_exporter"
        theirs, own = (
            (sources[name]["user_us"] + sources[name]["system_us"]) / sources[name]["seconds"]
            for name in ("node_exporter", "process_tree")
        )
        error = sources["node_exporter"]["error_us"] / sources["node_exporter"]["seconds"]
        assert abs(theirs - own) <= error + 0.15 * own
        assert each["server"]["error_us"] > 0
        assert each["server"]["memory_bytes"] is None
    found = summary(tlslab)
    assert "whole machine, by node_exporter" in found["server_side"]["Server's processor time"]
    for cell in found["cells"]:
        assert "for the instants of reading" in cell["estimates"][COST]["method"]
        assert "server_memory_bytes" not in cell["estimates"]
        assert "connections_per_cpu_s" not in cell["estimates"]


def test_an_exporter_that_fails_later_takes_only_the_servers_time(
    tlslab: Tlslab, small: Small, own_reference: Own
) -> None:
    with machine_of(own_reference.running.process.tree, answers=6) as machine:
        done = run(tlslab, small, own_reference, "--server-metrics", machine.url)
    reasons = [
        each["side"]["missing"].get("node_exporter", "")
        for trial in done
        for each in trial["runs"].values()
    ]
    assert "the answer is a page in HTML, not metrics" in reasons
    last = done[-1]["runs"]["capacity"]
    assert last["server"] is None
    assert last["record"]["outcomes"]["completed"] > 0


@pytest.mark.parametrize("metrics", ["http://127.0.0.1:1/metrics", "ftp://host/"])
def test_an_exporter_that_does_not_serve_ends_the_run_before_its_start(
    tlslab: Tlslab, small: Small, own_reference: Own, metrics: str
) -> None:
    target = ["--target", own_reference.url, "--ca", str(own_reference.ca)]
    for line in (
        ["run", small(), *target, "--server-metrics", metrics, "--out", "out"],
        ["load", "--server-metrics", metrics, "-n", "1", own_reference.url],
    ):
        ended = tlslab.run(*line)
        assert ended.code == (3 if metrics.startswith("http") else 2)
        assert len(ended.errors) == 1
        assert "--server-metrics" in ended.errors[0]
    assert not (tlslab.folder / "out").exists()


def test_a_server_that_the_lab_starts_needs_no_exporter(tlslab: Tlslab, small: Small) -> None:
    ended = tlslab.run("run", small(), "--server-metrics", "http://127.0.0.1:9100/metrics")
    assert ended.code == 2
    assert "a server that the lab did not start" in ended.errors[0]


def test_load_says_what_a_connection_costs_the_server(
    tlslab: Tlslab, own_nginx: Own, tmp_path: Path
) -> None:
    line = ["-c", "4", "-d", "1s", "--ca", str(own_nginx.ca), own_nginx.url]
    ended = tlslab.run("load", *line)
    assert ended.code in (0, 1), ended.err
    assert ended.out.count("server (nginx)") == 1
    assert "machine  processors busy" in ended.out
    with node_exporter(tmp_path) as url:
        ended = tlslab.run("load", "--server-metrics", url, *line)
        # Its own processes are known, which says more than the whole machine: said once, too.
        assert ended.out.count("server (nginx)") == 1
        assert re.search(r"server \(nginx\) .* process(es)? that listens? there", ended.out)
    refused = tlslab.run("load", "--json", "--server-metrics", url, *line)
    assert refused.code == 2
    assert len(refused.errors) == 1
