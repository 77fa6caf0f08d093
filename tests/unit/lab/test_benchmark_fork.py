"""The settings of a benchmark's fork."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tlslab.domain.benchmark import BenchmarkSettings
from tlslab.lab.benchmark.benchmark_trial import Bench, make_fork
from tlslab.lab.benchmark.keystores import KeyStore, Material
from tlslab.servers.certificates import CertificateFiles
from tlslab.servers.jdk import Jdk


@pytest.mark.parametrize(("name", "has_more"), [("cluster", True), ("memory", False)])
def test_a_request_to_a_signing_node_has_more_time_in_the_warm_up(
    name: str, has_more: bool, tmp_path: Path
) -> None:
    files = CertificateFiles(tmp_path / "c.pem", tmp_path / "c.key")
    runtimes: Any = SimpleNamespace(jdks={"jdk-25": Jdk(tmp_path, "25", "Debian")}, broken={})
    unused: Any = None
    bench = Bench(
        engine=unused,
        runtimes=runtimes,
        stores=unused,
        material=Material(tmp_path, files, files, tmp_path / "trust.pem"),
        settings=BenchmarkSettings(("sample",), 5, 6000, 5, 4000),
        jar=Path("/b.jar"),
        run=tmp_path,
    )
    factors = {"runtime": "jdk-25", "benchmark": "sign", "threads": "24"}
    fork = make_fork(bench, factors, KeyStore(name, {"cluster.timeout_ms": "1000"}))
    text = fork.settings_file.read_text("utf-8")
    assert "cluster.timeout_ms=1000\n" in text
    assert ("cluster.patient_ms=30000\n" in text) == has_more
