"""Nodes of a Ray cluster as hosts: namespaces with a generator each, and their faults."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from live.driven import LOAD_MS, Driver, Line, loaded
from live.hosts import Hosts, NamespaceHost, cluster, lacking
from live.lab_on_cluster import address, assert_nothing_of_the_lab, until
from tlslab.servers.programs import require_program

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[NamespaceHost]]:
    """A cluster for tests that harm no node: the head and two generators."""
    with cluster(tmp_path_factory.mktemp("calm"), ["g1", "g2"]) as (_, hosts):
        yield hosts


@pytest.fixture
def harmed(tmp_path: Path) -> Iterator[list[NamespaceHost]]:
    """A cluster for one test."""
    with cluster(tmp_path, ["g1", "g2"]) as (_, hosts):
        yield hosts


@pytest.mark.capability("two hosts in namespaces make one load")
def test_the_program_is_shipped_to_the_host_without_it_and_is_gone_at_the_end(
    calm: list[NamespaceHost],
) -> None:
    head, g1, g2 = calm
    program = require_program("tlslab-load")
    subprocess.run([*g2.enter(), "mount", "--bind", "/dev/null", program], check=True)
    with loaded(head, 1_500) as spec:
        driver = Driver(head, address(head), "2", spec)
        driver.until(event="progress", host="g2")
        (engine,) = g2.named("tlslab-load")
        shipped = Path(f"/proc/{engine.pid}/exe").readlink()
        (own,) = g1.named("tlslab-load")
        assert Path(f"/proc/{own.pid}/exe").readlink() == Path(program).resolve()
        driver.finish()
    subprocess.run([*g2.enter(), "umount", program], check=True)
    assert shipped.parent.name.startswith("tlslab-node-")
    assert driver.process.returncode == 0
    assert set(driver.those("ended")) == {"g1", "g2"}
    assert all(line["outcomes"]["completed"] > 0 for line in driver.those("ended").values())
    for host in (g1, g2):
        assert_nothing_of_the_lab(host)
    until(lambda: not shipped.parent.exists())


def test_more_hosts_than_there_are_is_one_line(calm: list[NamespaceHost]) -> None:
    driver = Driver(calm[0], address(calm[0]), "3")
    (line,) = driver.finish()
    assert driver.process.returncode == 3
    assert line["error"].startswith("3 nodes with processors are needed for generators, the ")
    assert "head (10.77.0.1): CPU 0" in line["error"]
    assert "g2 (10.77.0.3): CPU 1" in line["error"]


def test_hosts_that_are_in_use_are_not_taken_twice(calm: list[NamespaceHost]) -> None:
    head = calm[0]
    with loaded(head) as spec:
        first = Driver(head, address(head), "2", spec)
        first.until(event="progress")
        second = Driver(head, address(head), "2")
        (line,) = second.finish()
        first.process.kill()
    assert second.process.returncode == 3
    assert "all processors of g1, g2 are needed, 0 are free" in line["error"]
    for host in calm:
        assert_nothing_of_the_lab(host)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RAY_AUTH_MODE": "disabled"}, "is refused without token authentication"),
        ({"RAY_AUTH_TOKEN": "another"}, "does not take the token of this machine"),
    ],
)
@pytest.mark.parametrize("way", ["its address", "auto"])
def test_a_cluster_beyond_loopback_needs_the_token(
    calm: list[NamespaceHost], variables: dict[str, str], words: str, way: str
) -> None:
    head = calm[0]
    driver = Driver(head, "auto" if way == "auto" else address(head), "1", **variables)
    (line,) = driver.finish()
    assert driver.process.returncode == 2
    assert words in line["error"]
    assert "RAY_AUTH_MODE=token" in line["remedy"]


def test_a_cluster_that_asks_for_no_token_is_refused_unless_it_is_loopback(tmp_path: Path) -> None:
    with Hosts(tmp_path) as hosts:
        open_to_all, own = hosts.add("open"), hosts.add("own")
        open_to_all.start_ray()
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "any"}
        driver = Driver(open_to_all, address(open_to_all), "1", **token)
        (line,) = driver.finish()
        assert driver.process.returncode == 2
        assert "it asks for no token" in line["error"]
        own.address = "127.0.0.1"
        own.start_ray()
        driver = Driver(own, "auto", "1")
        assert [line["name"] for line in driver.finish()] == ["own"]
        assert driver.process.returncode == 0


def secured(folder: Path, hosts: Sequence[NamespaceHost]) -> dict[str, str]:
    """The variables of a cluster with Ray's own TLS; all hosts have one certificate."""
    names = ",".join(f"IP:{host.address}" for host in hosts)
    (folder / "names").write_text(f"subjectAltName={names}\n", "ascii")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-extfile", "names", "-out", "node.pem"]
    for line in (
        ["req", "-x509", *key, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem"],
        ["req", *key, "-subj", "/CN=node", "-keyout", "node.key", "-out", "node.csr"],
        ["x509", "-req", "-in", "node.csr", *signed],
    ):
        subprocess.run(["openssl", *line], cwd=folder, check=True, capture_output=True, timeout=60)
    files = {"SERVER_CERT": "node.pem", "SERVER_KEY": "node.key", "CA_CERT": "ca.pem"}
    own = {f"RAY_TLS_{name}": str(folder / file) for name, file in files.items()}
    return {"RAY_USE_TLS": "1", **own}


def test_a_cluster_with_rays_own_tls_makes_load_and_lets_nobody_in_without(tmp_path: Path) -> None:
    with Hosts(tmp_path, "a token of a test") as hosts:
        head, g1 = hosts.add("head"), hosts.add("g1")
        tls = secured(tmp_path, hosts.hosts)
        head.start_ray(None, 0, **tls)
        g1.start_ray(head.address, 1, **tls)
        with loaded(head, 300) as spec:
            driver = Driver(head, address(head), "1", spec, **tls)
            driver.finish()
            assert driver.process.returncode == 0, driver.lines
            assert driver.those("ended")["g1"]["outcomes"]["completed"] > 0
        plain = Driver(head, address(head), "1")
        (line,) = plain.finish()
        assert plain.process.returncode == 3
        assert "cannot be asked for its authentication" in line["error"]


def test_an_address_that_is_no_cluster_is_one_line(calm: list[NamespaceHost]) -> None:
    for word, code, words in (
        (f"ray://{calm[0].address}:10001", 2, "the port of Ray's proxy"),
        (f"ray://{calm[0].address}:1", 3, "no Ray cluster answers at 10.77.0.1:1"),
        ("https://10.77.0.1/", 2, "no address of a Ray cluster"),
    ):
        driver = Driver(calm[0], word, "1")
        (line,) = driver.finish()
        assert (driver.process.returncode, words in line["error"]) == (code, True), line


def _die(host: NamespaceHost) -> None:
    host.die()


def _kill_actor(host: NamespaceHost) -> None:
    (actor,) = host.named("ray::Node")
    actor.kill()


def _kill_engine(host: NamespaceHost) -> None:
    (engine,) = host.named("tlslab-load")
    engine.kill()


def _freeze(host: NamespaceHost) -> None:
    host.signal(signal.SIGSTOP)


def _cut(host: NamespaceHost) -> None:
    host.cut()


@pytest.mark.parametrize(
    ("place", "harm", "words"),
    [
        ("harmed", _die, "its node died"),
        ("calm", _kill_actor, "its process died"),
        ("calm", _kill_engine, "its engine was ended by SIGKILL"),
        ("harmed", _freeze, "no answer within"),
        ("harmed", _cut, "no answer within"),
    ],
)
def test_a_host_that_is_lost_says_so_and_the_other_goes_on(
    request: pytest.FixtureRequest, place: str, harm: Any, words: str
) -> None:
    head, g1, g2 = request.getfixturevalue(place)
    with loaded(head) as spec:
        driver = Driver(head, address(head), "2", spec)
        driver.until(event="progress", host="g2")
        driver.until(event="progress", host="g1")
        harm(g1)
        lost = driver.until(lost="g1")
        assert words in lost["reason"] or "cannot be reached" in lost["reason"]
        driver.until(event="progress", host="g2")
        if harm is _cut:
            assert_nothing_of_the_lab(g1)  # The node gets no message from its head.
        driver.end()
        driver.finish()
    assert driver.process.returncode == 0
    assert set(driver.those("ended")) == {"g2"}
    assert_nothing_of_the_lab(g2)
    if place == "calm":
        assert_nothing_of_the_lab(g1)


def test_nothing_runs_on_after_the_head_was_killed(harmed: list[NamespaceHost]) -> None:
    head, g1, g2 = harmed
    with loaded(head, 4 * LOAD_MS) as spec:
        driver = Driver(head, address(head), "2", spec)
        driver.until(event="progress")
        (lab,) = [each for each in head.processes() if "live.driver" in each.cmdline()]
        lab.kill()
        for host in (g1, g2):
            assert_nothing_of_the_lab(host)
        driver = Driver(head, address(head), "2", spec)
        driver.until(event="progress")
        os.kill(head.init.pid, signal.SIGKILL)
        for host in (g1, g2):
            assert_nothing_of_the_lab(host)


def test_a_late_joiner_is_there_for_the_next_run(tmp_path: Path) -> None:
    with cluster(tmp_path, ["g1", "g2"]) as (hosts, (head, *_)):
        first = Driver(head, address(head), "all")
        assert set(_names(first.finish())) == {"g1", "g2"}
        hosts.add("g3").start_ray(head.address)
        second = Driver(head, address(head), "all")
        assert set(_names(second.finish())) == {"g1", "g2", "g3"}


def _names(lines: list[Line]) -> list[str]:
    return [line["name"] for line in lines]
