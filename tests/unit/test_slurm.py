"""The batch script for Slurm: the address at which the nodes meet.

Slurm, Ray and the lab are stubs.
"""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "slurm" / "tlslab.sbatch"

STUBS = {
    "hostname": "echo 127.0.1.1",
    "scontrol": "printf '%s\\n' $NODES",
    "getent": 'echo "10.0.0.2 STREAM $2"',
    "ip": 'echo "$5 $ROUTE uid 0 \\\\ cache"',
    "srun": 'echo "srun $*" >> "$LOG"',
    "tlslab": 'echo "tlslab $*" >> "$LOG"',
    # All nodes have joined once each of them was started.
    "ray": 'if [ "$1" = status ]; then sed -n "s/.*ray start/node_/p" "$LOG"; '
    'else echo "ray $*" >> "$LOG"; fi',
}


def submit(folder: Path, nodes: str, route: str) -> tuple[int, str, list[str]]:
    """The script's exit code and error, and the commands that it ran."""
    for name, line in STUBS.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    log = folder / "log"
    log.touch()
    environment = {
        "PATH": f"{folder}:{os.defpath}",
        "LOG": str(log),
        "NODES": nodes,
        "ROUTE": route,
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_JOB_NUM_NODES": str(len(nodes.split())),
        "SLURM_CPUS_ON_NODE": "4",
        "SLURMD_NODENAME": "node1",
    }
    done = subprocess.run(
        ["bash", str(SCRIPT), "groups", "--quick"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr, log.read_text().splitlines()


@pytest.mark.parametrize("nodes", ["node1", "node1 node2"])
def test_nodes_meet_at_the_address_of_the_route(tmp_path: Path, nodes: str) -> None:
    code, said, given = submit(tmp_path, nodes, "via 10.0.0.254 dev eth0 src 10.0.0.1")
    assert (code, said) == (0, "")
    assert any("--head --node-ip-address=10.0.0.1 " in line for line in given)
    joins = [line for line in given if line.startswith("srun")]
    assert all("--address=10.0.0.1:6379" in line for line in joins)
    assert len(joins) == len(nodes.split()) - 1
    line = "tlslab run groups --quick --generators ray://10.0.0.1:6379 --listen 10.0.0.1"
    assert given[-1] == line


@pytest.mark.parametrize(("route", "shown"), [("dev lo src 127.0.0.1", "127.0.0.1"), ("", "")])
def test_an_address_that_no_other_node_reaches_is_refused(
    tmp_path: Path, route: str, shown: str
) -> None:
    code, said, given = submit(tmp_path, "node1 node2", route)
    assert (code, given) == (3, [])
    assert said == (f"other nodes cannot reach node1: the way to '10.0.0.2' begins at '{shown}'\n")
