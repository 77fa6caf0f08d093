"""Parts of hosts of a cluster that need no cluster; tests/live/test_cluster.py tests the others."""

import os
import platform
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.lab.generators.choose import require_reachable
from tlslab.lab.generators.cluster import connecting, ray_hosts
from tlslab.lab.generators.cluster.ray_hosts import HostSlot, RayCalls, Shipment, unique
from tlslab.lab.generators.host import HostLostError


@pytest.fixture(autouse=True)
def no_cluster_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connecting, "CURRENT", tmp_path / "ray_current_cluster")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("ray://10.0.0.1:6379", "10.0.0.1:6379"),
        ("ray://10.0.0.1", "10.0.0.1:6379"),
        ("10.0.0.1:6400", "10.0.0.1:6400"),
        ("ray://[fd00::1]:6379", "[fd00::1]:6379"),
        ("head", "head:6379"),
        ("auto", "auto"),
    ],
)
def test_an_address_is_that_of_the_clusters_head(text: str, place: str) -> None:
    assert connecting.gcs_address(text) == place


def test_the_cluster_of_this_machines_node_is_found_where_ray_writes_it() -> None:
    connecting.CURRENT.write_text("10.0.0.1:6379\n")
    assert connecting.gcs_address("auto") == "10.0.0.1:6379"


@pytest.mark.parametrize(
    "text",
    ["https://host/", "ray://host:99999", "ray://host:10001", "ray://", "ray://a,b", "a b"],
)
def test_a_malformed_address_of_a_cluster_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--generators"):
        connecting.gcs_address(text)


@pytest.mark.parametrize(
    ("place", "only_here"),
    [
        ("127.0.0.1:6379", True),
        ("127.0.0.1", True),
        ("[::1]:6379", True),
        ("::1", True),
        ("127.0.0.2", False),  # For this address Ray listens on all addresses.
        ("10.0.0.1:6379", False),
        ("fd00::1", False),
        ("localhost:6379", False),
    ],
)
def test_only_two_addresses_are_taken_for_loopback(place: str, only_here: bool) -> None:
    assert connecting.is_loopback(place) == only_here


def test_without_the_mode_nobody_is_asked_for_a_token() -> None:
    with pytest.raises(UsageError, match="refused without token") as caught:
        connecting.require_token("10.0.0.1:6379")
    assert "RAY_AUTH_MODE=token" in caught.value.remedy


@pytest.mark.parametrize(
    ("none", "own", "error", "words"),
    [
        (7, 0, None, ""),
        (0, 0, UsageError, "it asks for no token"),
        (7, 7, UsageError, "does not take the token"),
        (1, 0, CannotRunError, "cannot be asked for its authentication: no GcsClient"),
    ],
)
def test_how_a_knock_is_received_decides(
    monkeypatch: pytest.MonkeyPatch,
    none: int,
    own: int,
    error: type[Exception] | None,
    words: str,
) -> None:
    script = 'echo no GcsClient >&2; exit $([ "$RAY_AUTH_MODE" = token ] && echo %d || echo %d)'
    program = f"#!/bin/sh\n{script % (own, none)}\n"
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    fake = connecting.CURRENT.with_name("python")
    fake.write_text(program)
    fake.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(fake))
    if error is None:
        connecting.require_token("10.0.0.1:6379")
        return
    with pytest.raises(error, match=words):
        connecting.require_token("10.0.0.1:6379")


def test_hosts_of_one_name_have_their_addresses() -> None:
    places = [HostSlot("n1", "a", "10.0.0.1", 1), HostSlot("n2", "a", "10.0.0.2", 1)]
    assert unique(["a", "b"], places) == ["a", "b"]
    assert unique(["a", "a"], places) == ["a (10.0.0.1)", "a (10.0.0.2)"]


def described(node: str, processors: int, alive: bool = True) -> dict[str, Any]:
    return {
        "NodeID": node,
        "NodeManagerHostname": f"host-{node}",
        "NodeManagerAddress": "10.0.0.1",
        "Resources": {"CPU": float(processors)} if processors else {},
        "Alive": alive,
    }


@pytest.mark.parametrize(
    ("nodes", "wanted", "count"),
    [
        (("own", "g1", "g2"), ["g1", "g2"], None),
        (("own", "g1", "g2"), ["g1"], 1),
        (("own",), ["own"], None),
    ],
)
def test_the_labs_own_node_makes_load_only_if_it_is_alone(
    monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...], wanted: list[str], count: int | None
) -> None:
    fake_ray(monkeypatch, [described(node, 2) for node in nodes] + [described("dead", 2, False)])
    placed = ray_hosts.place(count)
    assert [each.node for each in placed.places] == wanted
    assert placed.group.bundles == [{"CPU": 2}] * len(wanted)


def test_nodes_without_processors_are_none_and_the_line_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ray_hosts, "PLACE_S", 0.1)
    fake_ray(monkeypatch, [described("own", 0), described("g1", 4)])
    with pytest.raises(CannotRunError) as caught:
        ray_hosts.place(2)
    assert "2 nodes with processors are needed for generators, the cluster has 1" in str(
        caught.value.message
    )
    assert "host-g1 (10.0.0.1): CPU 4; host-own (10.0.0.1): CPU 0" in caught.value.message


def fake_ray(monkeypatch: pytest.MonkeyPatch, nodes: list[dict[str, Any]]) -> None:
    context = SimpleNamespace(get_node_id=lambda: "own")
    monkeypatch.setattr("ray.nodes", lambda: nodes)
    monkeypatch.setattr("ray.get_runtime_context", lambda: context)

    def group(bundles: list[dict[str, int]], **_: Any) -> SimpleNamespace:
        return SimpleNamespace(bundles=bundles, wait=lambda seconds: True)

    monkeypatch.setattr(ray_hosts, "placement_group", group)


def test_another_architecture_is_refused_and_the_same_program_is_not_sent(tmp_path: Path) -> None:
    program = tmp_path / "tlslab-load"
    program.write_bytes(b"engine")
    shipment = Shipment(str(program))
    asked: list[tuple[Any, ...]] = []

    class Calls(RayCalls):
        def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
            asked.append((method, *arguments))

    calls = Calls(None, "g1", lambda calls: None)
    facts = {"hostname": "g1", "architecture": "riscv64", "program": "/x", "sha256": ""}
    with pytest.raises(CannotRunError, match=f"g1 is riscv64, this machine {platform.machine()}"):
        shipment.deliver(calls, facts)
    shipment.deliver(calls, {**facts, "sha256": shipment.sha256})
    assert asked == [("use", "/x")]


def test_a_lost_host_is_called_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.exceptions import GetTimeoutError, RayTaskError

    answers: list[Any] = [GetTimeoutError("late")]

    def get(reference: Any, timeout: float) -> Any:
        raise answers.pop()

    monkeypatch.setattr("ray.get", get)
    remote = SimpleNamespace(remote=lambda *arguments: None)
    calls = RayCalls(SimpleNamespace(now_ns=remote), "g1", lambda calls: None)
    for _ in range(2):  # The second call is not made.
        with pytest.raises(HostLostError, match="no answer within 3 s"):
            calls("now_ns", seconds=3.0)
    answers.append(RayTaskError("now_ns", "traceback", ValueError("of the code there")))
    calls = RayCalls(SimpleNamespace(now_ns=remote), "g1", lambda calls: None)
    with pytest.raises(EngineError, match="g1: ValueError: of the code there"):
        calls("now_ns", seconds=3.0)


@pytest.mark.parametrize(
    ("generators", "listen", "address", "refused"),
    [
        (None, None, None, False),
        ("2", None, None, False),
        ("2", None, "10.0.0.1:6379", True),
        ("2", "10.0.0.1", "10.0.0.1:6379", False),
        ("auto", None, None, True),
        ("ray://10.0.0.1:6379", None, None, True),
        ("ray://10.0.0.1:6379", "127.0.0.1", None, False),
    ],
)
def test_a_server_on_loopback_is_not_for_other_hosts(
    monkeypatch: pytest.MonkeyPatch,
    generators: str | None,
    listen: str | None,
    address: str | None,
    refused: bool,
) -> None:
    if address is not None:
        monkeypatch.setitem(os.environ, "RAY_ADDRESS", address)
    if not refused:
        require_reachable(generators, listen)
        return
    with pytest.raises(UsageError, match="cannot reach a server on loopback") as caught:
        require_reachable(generators, listen)
    assert "--listen ADDRESS" in caught.value.remedy
    reachable, _, alone = caught.value.remedy.partition(", or --listen 127.0.0.1")
    assert "127.0.0.1" not in reachable
    assert "this machine alone" in alone
