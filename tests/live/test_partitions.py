"""Links that are cut under load: a generator that comes back, and a head that does not."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from live.accounts import assert_accounts
from live.hosts import Hosts, NamespaceHost, cluster, lacking
from live.lab_on_cluster import Lab, address, assert_nothing_of_the_lab, served

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]

LOAD = ["load", "--insecure", "-c", "4", "--rate", "200"]


@pytest.fixture(scope="module")
def there(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Hosts, list[NamespaceHost], str]]:
    """A cluster of two generators, and a server on its head. Each test changes the cluster."""
    folder = tmp_path_factory.mktemp("cut")
    with cluster(folder, ["g1", "g2"]) as (hosts, made), served(made[0]) as place:
        yield hosts, list(made), f"https://{place}/"


def until_hosts(child: subprocess.Popen[str], lost: dict[str, bool]) -> None:
    """Reads events until the progress of one host lists these hosts, lost or not."""
    assert child.stderr is not None
    for line in child.stderr:
        event = json.loads(line) if line.startswith("{") else {}
        hosts = {each["host"]: bool(each.get("lost")) for each in event.get("hosts", [])}
        if event.get("event") == "progress" and hosts == lost:
            return
    raise AssertionError(f"no progress with {lost}")


@pytest.mark.timeout(300)
def test_a_host_that_was_cut_off_and_comes_back_is_lost_all_the_same(
    there: tuple[Hosts, list[NamespaceHost], str],
) -> None:
    _, (head, g1, g2), url = there
    lab = Lab(head)
    wanted = [*LOAD, "--generators", "2", "--on-lost-host", "keep", "--allow", head.address]
    child = lab.start(*wanted, "--json", "--events", "-d", "25s", url)
    until_hosts(child, {"g1": False, "g2": False})
    g1.cut()
    until_hosts(child, {"g1": True, "g2": False})
    (engine,) = g1.named("tlslab-load")
    g1.mend()
    assert engine.is_running(), "it came back while it still made load"
    code, out, err = lab.finish(child)
    assert code == 1, err
    record: dict[str, Any] = json.loads(out)
    # The total is the sum of its hosts, each of which is listed once; times are those of g2 alone.
    assert_accounts(record)
    assert [host["name"] for host in record["hosts"]] == ["g2", "g1"]
    kept, lost = record["hosts"]
    assert kept["lost"] is None
    assert lost["outcomes"]["completed"] == lost["lost"]["totals"]["completed"] > 0
    (verdict,) = (each for each in record["verdicts"] if each["code"] == "host_lost")
    assert "1 of 2 generators: g1 was lost" in verdict["message"]
    for host in (g1, g2):
        assert_nothing_of_the_lab(host)


@pytest.mark.timeout(300)
def test_nothing_runs_on_after_the_head_has_lost_its_network(
    there: tuple[Hosts, list[NamespaceHost], str],
) -> None:
    hosts, (head, _, g2), url = there
    # g1 may no longer be a node: its head considered it dead.
    g3 = hosts.add("g3")
    g3.start_ray(head.address)
    lab = Lab(head)
    wanted = [*LOAD, "--generators", address(head), "--allow", head.address]
    child = lab.start(*wanted, "-d", "120s", url)
    for host in (g2, g3):
        lab.measuring(host, child)
    head.cut()
    for host in hosts.hosts:
        assert_nothing_of_the_lab(host)
    code, _, err = lab.finish(child)
    assert code == 3, err
    assert "was lost" in err
