import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from tlslab.domain.benchmark import BenchmarkSettings, Faults
from tlslab.lab.benchmark import timeline
from tlslab.lab.benchmark.jmh import Fork, ForkFailedError
from tlslab.lab.benchmark.keystores import KeyStore, Material
from tlslab.servers.certificates import CertificateFiles
from tlslab.servers.jdk import Jdk

FAULTS = Faults("sign", 2, ("killed",), ("none",), 0.4, 0.1, 0.2)

SECOND = {
    "at_s": 1.0, "seconds": 1.0, "completed": 7, "failed": {"timeout": 2}, "p50_ms": 1.5,
    "p99_ms": 3.0, "max_ms": 4.0,
    "nodes": [{"address": "198.18.0.2:8200", "answered": 7, "failed": {"timeout": 2}}],
}  # fmt: skip


@dataclass
class Node:
    """The calls by which a load harms a node."""

    name: str = "a"
    done: list[str] = field(default_factory=list)

    def kill(self) -> None:
        self.done.append("killed")

    def slow(self, share: float) -> None:
        self.done.append(f"slow {share:g}")

    def restore(self) -> None:
        self.done.append("restored")


@dataclass
class Cluster:
    """Two nodes, of which the first one is at fault."""

    nodes: tuple[Node, ...]


@pytest.fixture
def node() -> Node:
    return Node()


def load(
    tmp_path: Path, node: Node, script: str, fault: str = "killed", policy: str = "none"
) -> Any:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    files = CertificateFiles(tmp_path / "c.pem", tmp_path / "c.key")
    material = Material(tmp_path, files, files, tmp_path / "trust.pem")
    keys = KeyStore(
        "cluster", {"cluster.nodes": "x 1"}, cluster=cast("Any", Cluster((node, Node("b"))))
    )
    settings = BenchmarkSettings(("sample",), 0, 100, 1, 100, FAULTS)
    fork = Fork(
        Jdk(tmp_path, "17", "Debian"), Path("/b.jar"), "sign", keys, 2,
        tmp_path / "none", settings,
    )  # fmt: skip
    return timeline.run_timeline(fork, material, FAULTS, fault, policy)


def script(*lines: dict[str, Any]) -> str:
    reported = [f"echo '{json.dumps(line)}'" for line in lines]
    return "\n".join([reported[0], "sleep 0.5", *reported[1:]])


def test_slices_are_read_and_the_fault_comes_in_between(tmp_path: Path, node: Node) -> None:
    found = load(tmp_path, node, script({"event": "begun"}, SECOND, SECOND))
    assert [each.completed for each in found.slices] == [7, 7]
    assert found.slices[0].nodes[0].failed == {"timeout": 2}
    assert node.done == ["killed"]
    assert found.events[0].what == "node a is killed"
    assert found.events[0].at_s >= 0.1
    assert found.runtime == "JDK 17 Debian"


@pytest.mark.parametrize(("fault", "done"), [("slow", "slow 0.2"), ("frozen", "slow 0")])
def test_a_node_is_restored(tmp_path: Path, node: Node, fault: str, done: Any) -> None:
    load(tmp_path, node, script({"event": "begun"}, SECOND), fault)
    assert node.done == [done, "restored"]


def test_the_policy_is_in_the_settings(tmp_path: Path, node: Node) -> None:
    load(tmp_path, node, script({"event": "begun"}, SECOND), policy="eject")
    text = (tmp_path / "timeline.properties").read_text()
    assert "cluster.ejection.failures=1\n" in text
    assert "cluster.nodes=x 1\n" in text


def test_a_load_that_does_not_begin_says_why(tmp_path: Path, node: Node) -> None:
    with pytest.raises(ForkFailedError, match="does not sign: timed out"):
        load(tmp_path, node, "echo \"the key in 'cluster' does not sign: timed out\" >&2; exit 1")
    assert node.done == []
