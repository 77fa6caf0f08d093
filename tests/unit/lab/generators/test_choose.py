"""Which pool of generators a command line requests."""

import sys
from types import ModuleType

import pytest

from factories.hosts import FakeHost
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.lab.engine import Engine
from tlslab.lab.generators import choose
from tlslab.lab.generators.choose import check_generators, check_policy, generators
from tlslab.lab.generators.several import SeveralHosts

CLUSTER = "tlslab.lab.generators.cluster"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(choose, "require_program", lambda name: name)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None]]:
    """A cluster of three hosts, and a log of the requests to it."""
    asked: list[tuple[str, int | None]] = []

    def cluster_hosts(address: str, count: int | None) -> list[FakeHost]:
        asked.append((address, count))
        return [FakeHost(f"node-{number}") for number in range(count or 3)]

    module = ModuleType(CLUSTER)
    module.cluster_hosts = cluster_hosts  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.setitem(sys.modules, CLUSTER, module)
    return asked


@pytest.mark.parametrize("wanted", ["0", "-1", "x", "1.5", "ray://", "ray://host", "", "2 "])
def test_malformed_generators_are_refused(wanted: str) -> None:
    with pytest.raises(UsageError, match="--generators"):
        check_generators(wanted)


@pytest.mark.parametrize("wanted", [None, "1", "20", "auto", "ray://10.0.0.1:10001"])
def test_well_formed_generators_are_taken(wanted: str | None) -> None:
    assert check_generators(wanted) == wanted


def test_a_policy_is_one_of_two() -> None:
    assert [check_policy(name, "2") for name in ("fail", "keep")] == ["fail", "keep"]
    assert check_policy("fail", None) == "fail"
    with pytest.raises(UsageError, match="fail or keep"):
        check_policy("wait", "2")
    with pytest.raises(UsageError, match="keep needs --generators"):
        check_policy("keep", None)


def test_without_a_number_it_is_one_engine() -> None:
    with generators(None) as pool:
        assert isinstance(pool, Engine)
        assert (pool.size, pool.first) == (1, 1)


def test_a_number_is_that_of_processes_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with generators("3", "keep") as pool:
        assert isinstance(pool, SeveralHosts)
        assert [host.facts.name for host in pool.hosts] == ["local-1", "local-2", "local-3"]
        assert (pool.size, pool.first) == (3, 3)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(UsageError, match="64 processes"):
        check_generators("65")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert check_generators("65") == "65"


def test_a_number_is_that_of_hosts_of_the_cluster(
    cluster: list[tuple[str, int | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    with generators("2") as pool:
        assert (pool.size, pool.first) == (2, 2)
    assert cluster == [("10.0.0.1:6379", 2)]


@pytest.mark.parametrize(
    ("wanted", "address"), [("auto", "auto"), ("ray://10.0.0.1:10001", "ray://10.0.0.1:10001")]
)
def test_of_a_whole_cluster_a_search_begins_with_one_host(
    cluster: list[tuple[str, int | None]], wanted: str, address: str
) -> None:
    with generators(wanted) as pool:
        assert (pool.size, pool.first) == (3, 1)
    assert cluster == [(address, None)]


def test_a_cluster_without_ray_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in [each for each in sys.modules if each.startswith("tlslab.lab.generators.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(CannotRunError, match="Ray is not installed") as caught, generators("auto"):
        pass
    assert caught.value.remedy == "pip install 'ray>=2.60,<3'"
