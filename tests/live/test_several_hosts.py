"""`tlslab run` with generators on other hosts: namespaces, each a node of a Ray cluster."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from live.hosts import PORT, NamespaceHost, cluster, lacking
from live.test_cluster import assert_nothing_of_the_lab
from tlslab.experiment.short import VARIABLE

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]

Small = Callable[..., str]

# On a machine that other programs use as well.
RUN_S = 280.0


class Lab:
    """`tlslab` on the head of a cluster."""

    def __init__(self, head: NamespaceHost) -> None:
        self.head = head

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        place = {"RAY_ADDRESS": f"{self.head.address}:{PORT}", "COLUMNS": "200"}
        return subprocess.Popen(
            [*self.head.enter(), sys.executable, "-m", "tlslab", *arguments],
            env=self.head.variables() | place | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **variables: str) -> tuple[int, str, str]:
        return self.finish(self.start(*arguments, **variables))

    def finish(self, child: subprocess.Popen[str]) -> tuple[int, str, str]:
        out, err = child.communicate(timeout=RUN_S)
        assert "Traceback" not in err, err
        return child.returncode, out, err

    def measuring(self, host: NamespaceHost, child: subprocess.Popen[str]) -> None:
        """Waits until the host makes load."""
        deadline = time.monotonic() + RUN_S
        while not _is_loading(host):
            assert child.poll() is None, child.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _is_loading(host: NamespaceHost) -> bool:
    """Whether an engine there is beyond the barrier: it has used some processor time."""
    for engine in host.named("tlslab-load"):
        with contextlib.suppress(psutil.Error):
            if "--barrier" in engine.cmdline() and sum(engine.cpu_times()[:2]) > 0.2:
                return True
    return False


def trials(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "trials.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def there(tmp_path: Path) -> Iterator[tuple[Lab, list[NamespaceHost]]]:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    with cluster(hosts, ["g1", "g2"]) as (_, made):
        yield Lab(made[0]), made


@pytest.mark.timeout(400)
def test_a_capacity_study_by_two_hosts_names_them_and_what_is_known_of_their_clocks(
    there: tuple[Lab, list[NamespaceHost]], tmp_path: Path
) -> None:
    lab, (head, g1, g2) = there
    wanted = ["run", "capacity", "--quick", "--target", "nginx", "--set", "processors=1"]
    code, _, err = lab.run(*wanted, "--generators", "2")
    assert code == 2
    assert "error: --generators 2: other hosts cannot reach a server on loopback" in err
    assert head.address in err
    place = ["--listen", head.address, "--out", str(tmp_path / "r")]
    code, out, err = lab.run(*wanted, "--generators", "2", *place, **{VARIABLE: "1"})
    assert code in (0, 1), err
    assert "  g1: " in out
    assert "  g2: " in out
    assert "clock known to" in out
    runs = [run for trial in trials(tmp_path / "r") for run in trial["runs"].values()]
    for run in runs:
        hosts = {each["name"]: each for each in run["record"]["hosts"]}
        assert set(hosts) == {"g1", "g2"}
        assert run["record"]["address"].startswith(f"{head.address}:")
    page = (tmp_path / "r" / "report.html").read_text()
    assert "g1" in page
    assert "clock known to" in page
    for host in (g1, g2):
        assert_nothing_of_the_lab(host)


def _die(host: NamespaceHost) -> None:
    host.die()


def _cut(host: NamespaceHost) -> None:
    host.cut()


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("policy", "harm"),
    [("fail", _die), ("keep", _die), ("keep", _cut)],
    ids=["fail-die", "keep-die", "keep-cut"],
)
def test_a_host_that_is_lost_in_the_middle_is_a_verdict_and_never_a_smaller_sum(
    there: tuple[Lab, list[NamespaceHost]],
    small: Small,
    tmp_path: Path,
    policy: str,
    harm: Callable[[NamespaceHost], None],
) -> None:
    lab, (head, g1, g2) = there
    file = str(tmp_path / small(blocks=3, measure_ms=3_000))
    place = ["--listen", head.address, "--out", str(tmp_path / "r"), "--on-lost-host", policy]
    child = lab.start("run", file, "--target", "nginx", "--generators", "2", *place)
    lab.measuring(g1, child)
    harm(g1)
    code, _, err = lab.finish(child)
    assert code == 1, err
    first, *later = trials(tmp_path / "r")
    assert len(later) == 5
    if policy == "fail":
        # No trial is made by a part of those that started it.
        assert (first["status"], first["reason"]["class"]) == ("failed", "host_lost")
        assert "g1" in first["reason"]["message"]
    else:
        records = [run["record"] for run in first["runs"].values()]
        lost = [each for record in records for each in record["hosts"] if each.get("lost")]
        assert {each["name"] for each in lost} == {"g1"}
        verdicts = {each["code"] for record in records for each in record["verdicts"]}
        assert "host_lost" in verdicts
    for trial in later:
        assert trial["status"] == "done"
        for run in trial["runs"].values():
            assert {each["name"] for each in run["record"]["hosts"]} == {"g2"}
    assert_nothing_of_the_lab(g2)


@pytest.mark.timeout(400)
def test_all_hosts_are_taken_also_one_that_joined_late_with_another_clock(
    tmp_path: Path, small: Small
) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    with cluster(hosts, ["g1"]) as (network, (head, _)):
        network.add("late", monotonic_s=3_000).start_ray(head.address)
        lab = Lab(head)
        place = ["--listen", head.address, "--out", str(tmp_path / "r")]
        wanted = ["run", str(tmp_path / small(blocks=1)), "--target", "nginx", *place]
        code, _, err = lab.run(*wanted, "--generators", f"ray://{head.address}:{PORT}")
        assert code in (0, 1), err
    for trial in trials(tmp_path / "r"):
        for run in trial["runs"].values():
            each = {host["name"]: host for host in run["record"]["hosts"]}
            assert set(each) == {"g1", "late"}
            assert abs(each["late"]["found"]["clock"]["offset_s"] - 3_000) < 0.1
