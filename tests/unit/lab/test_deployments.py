"""Servers that are set up for their cells, each separately."""

from dataclasses import replace
from pathlib import Path

import pytest

from tlslab.domain.deployment import Deployment
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.experiment import Exclusion, Experiment
from tlslab.domain.levels import Levels
from tlslab.domain.run import TargetInfo
from tlslab.domain.workload import KeepAlive, Window
from tlslab.experiment import load, make_plan, with_levels
from tlslab.lab import deployments
from tlslab.lab.deployments import Servers, prepare
from tlslab.lab.discovery import Discovered, DiscoveredServer
from tlslab.lab.engine import Engine
from tlslab.lab.foresee import refusals
from tlslab.lab.matrix.run_in_blocks import most_connections
from tlslab.lab.opening import default_folder
from tlslab.lab.request import Request
from tlslab.servers import Setting, Target, lacking, registry
from tlslab.servers.registry import MANAGED

FEW = with_levels(load("groups", "quick"), {"group": ("X25519", "P-256")})
ENGINE = Engine("no-program")


def prepared(experiment: Experiment, folder: Path, *targets: str) -> Servers:
    return prepare(Request(experiment, targets or ("reference",), ("tlslab",)), ENGINE, folder)


@pytest.fixture(autouse=True)
def four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployments, "usable", lambda: (0, 1, 2, 3))
    monkeypatch.setattr("tlslab.lab.placement.usable", lambda: (0, 1, 2, 3))


def test_one_target_is_one_deployment(tmp_path: Path) -> None:
    servers = prepared(FEW, tmp_path)
    assert list(servers.prepared) == [Deployment("reference")]
    assert servers.target.name == "reference"
    assert (servers.target.processors, servers.generator) == ((0,), (1,))
    assert servers.warnings() == ()
    assert default_folder("groups", servers.target).name.startswith("groups-reference-")


def test_equal_copies_and_slowdowns_are_servers_of_their_own(tmp_path: Path) -> None:
    changed = with_levels(FEW, {"copy": ("a", "b"), "burn": ("0%", "5%")})
    servers = prepared(changed, tmp_path)
    assert {(d.levels.get("copy"), d.levels.get("burn")) for d in servers.prepared} == {
        (copy, burn) for copy in "ab" for burn in ("0%", "5%")
    }
    assert all(each.start is not None for each in servers.prepared.values())
    assert (
        lacking(Deployment("nginx", levels=Levels.of(burn="5%"))) == "nginx does not take burn=5%"
    )
    assert lacking(Deployment("nginx", levels=Levels.of(copy="a"))) is None


def test_each_number_of_processors_is_a_deployment_and_the_generator_stays(tmp_path: Path) -> None:
    servers = prepared(with_levels(FEW, {"processors": ("1", "2", "9")}), tmp_path)
    by_count = {d.levels.number("processors"): each for d, each in servers.prepared.items()}
    assert by_count[1].info.processors == (0,)
    assert by_count[2].info.processors == (0, 1)
    assert {each.aim.processors for each in by_count.values()} == {(1,)} or servers.generator
    plan = make_plan(servers.experiment, 1, servers.refuse)
    assert {each.reason for each in plan.excluded} == {
        "this machine has 4 processors, 9 are asked for"
    }


def test_a_server_gets_the_keys_groups_and_versions_of_its_own_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Setting] = {}
    build = registry.build

    def watched(deployment: Deployment, setting: Setting) -> Target:
        settings[deployment.server] = setting
        return build(Deployment("reference"), setting)

    monkeypatch.setattr(deployments, "build", watched)
    keep_alive = KeepAlive(Window(0, 100), 8, "2")
    experiment = with_levels(
        FEW, {"server": ("nginx", "reference"), "key": ("ecdsa-p256", "rsa-2048")}
    )
    experiment = replace(
        experiment,
        workload=replace(experiment.workload, keep_alive=keep_alive),
        exclusions=(
            Exclusion({"server": "nginx", "key": "rsa-*"}, "ECDSA there"),
            Exclusion({"server": "reference", "key": "ecdsa-*"}, "RSA here"),
        ),
    )
    servers = prepared(experiment, tmp_path)
    assert settings["nginx"].keys == ("ecdsa-p256",)
    assert settings["reference"].keys == ("rsa-2048",)
    assert settings["nginx"].groups == ("X25519", "P-256")
    assert settings["nginx"].suites == ("TLS_AES_256_GCM_SHA384",)
    assert settings["nginx"].http2
    assert settings["nginx"].folder != settings["reference"].folder
    assert len(servers.deployed) == 2


def test_the_threads_of_a_java_server_are_not_those_of_the_front_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Setting] = {}

    def watched(deployment: Deployment, setting: Setting) -> Target:
        settings[deployment.front] = setting
        return build(Deployment("reference"), setting)

    build = registry.build
    monkeypatch.setattr(deployments, "build", watched)
    monkeypatch.setattr(deployments, "lacking", lambda deployment: None)
    levels = {"server": ("tomcat",), "front": ("none", "haproxy"), "workers": ("200",)}
    servers = prepared(with_levels(FEW, levels), tmp_path)
    assert {each.deployment.levels.number("workers") for each in servers.deployed} == {200}
    assert {front: setting.workers for front, setting in settings.items()} == {
        "none": 1,
        "haproxy": 1,
    }


def test_a_server_that_cannot_be_set_up_fails_alone_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = registry.build

    def broken(deployment: Deployment, setting: Setting) -> Target:
        if deployment.server == "nginx":
            raise CannotRunError("nginx is not installed", "apt-get install nginx-light")
        return build(deployment, setting)

    monkeypatch.setattr(deployments, "build", broken)
    servers = prepared(with_levels(FEW, {"server": ("nginx", "reference")}), tmp_path)
    failed = servers.prepared[Deployment("nginx")]
    assert failed.failure == "nginx is not installed: apt-get install nginx-light"
    assert "nginx could not be set up" in servers.warnings()[0]
    assert servers.deployed[0].failure
    with pytest.raises(CannotRunError, match="nginx is not installed"):
        prepared(FEW, tmp_path / "again", "nginx")


def test_cells_that_a_server_does_not_take_are_excluded_with_the_reason(tmp_path: Path) -> None:
    servers = prepared(with_levels(FEW, {"connector": ("jsse",)}), tmp_path)
    plan = make_plan(servers.experiment, 1, servers.refuse)
    assert plan.cells == ()
    assert {each.reason for each in plan.excluded} == {"reference does not take connector=jsse"}


def test_an_unknown_server_is_reported_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown target 'iis'") as error:
        prepared(FEW, tmp_path, "iis")
    assert all(name in error.value.remedy for name in MANAGED)


def test_the_most_connections_are_those_of_any_run() -> None:
    keep_alive = KeepAlive(Window(0, 100), 128)
    assert most_connections(FEW) == 16
    assert (
        most_connections(replace(FEW, workload=replace(FEW.workload, keep_alive=keep_alive))) == 128
    )
    assert most_connections(with_levels(FEW, {"connections": ("4", "256")})) == 256


def test_servers_listen_where_the_user_says_and_may_be_loaded_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: list[Setting] = []
    build = registry.build

    def watched(deployment: Deployment, setting: Setting) -> Target:
        settings.append(setting)
        return build(deployment, setting)

    monkeypatch.setattr(deployments, "build", watched)
    request = Request(FEW, ("reference",), ("tlslab",), listen="10.77.0.1")
    (ready,) = prepare(request, ENGINE, tmp_path).prepared.values()
    assert [setting.listen for setting in settings] == ["10.77.0.1"]
    assert (ready.info.host, ready.aim.allow) == ("10.77.0.1", ("10.77.0.1",))
    (ready,) = prepared(FEW, tmp_path / "loopback").prepared.values()
    assert (ready.info.host, ready.aim.allow) == ("127.0.0.1", ())


def test_one_exporter_does_not_read_several_hosts(tmp_path: Path) -> None:
    urls = ("https://127.0.0.1:1/", "https://127.0.0.2:1/")
    one = Request(FEW, urls, ("tlslab",), server_metrics="http://127.0.0.1:9100/metrics")
    with pytest.raises(UsageError) as caught:
        prepare(one, ENGINE, tmp_path)
    assert caught.value.message == (
        "--server-metrics reads one host, and the servers are on 2: 127.0.0.1, 127.0.0.2"
    )


@pytest.mark.parametrize(
    ("factor", "levels"), [("front", ("none", "nginx")), ("processors", ("1",)), ("burn", ("0%",))]
)
def test_factors_that_the_lab_sets_up_are_refused_for_a_url(
    factor: str, levels: tuple[str, ...], tmp_path: Path
) -> None:
    """Otherwise one server would be measured under several names."""
    changed = with_levels(FEW, {factor: levels})
    request = Request(changed, ("https://127.0.0.1:1/",), ("tlslab",))
    for refused in (lambda: prepare(request, ENGINE, tmp_path), lambda: refusals(request)):
        with pytest.raises(UsageError, match=f"the factor {factor} is set up at servers that"):
            refused()
    direct = replace(request, experiment=with_levels(FEW, {"front": ("none",)}))
    assert refusals(direct) is not None


def test_one_of_two_servers_without_any_cell_ends_the_run_before_its_first_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = with_levels(FEW, {"tls": ("1.3",), "key": ("ecdsa-p256",)})
    urls = ("https://127.0.0.1:1/", "https://127.0.0.1:2/")
    info = TargetInfo("", False, "", "", (), "127.0.0.1", "/")
    lacks = DiscoveredServer(info, {("tls", "1.3"): "127.0.0.1:2 has no TLS 1.3: its words"})
    found = Discovered((DiscoveredServer(info, {}), lacks), with_levels(one, {"server": urls}))
    monkeypatch.setattr(deployments, "discover", lambda *_: found)
    with pytest.raises(UsageError) as caught:
        prepare(Request(one, urls, ("tlslab",)), ENGINE, tmp_path)
    assert caught.value.message == (
        "no cell is left to run on https://127.0.0.1:2/: 127.0.0.1:2 has no TLS 1.3: its words"
    )


def test_a_running_server_listens_already(tmp_path: Path) -> None:
    request = Request(FEW, ("https://127.0.0.1:1/",), ("tlslab",), listen="10.77.0.1")
    with pytest.raises(UsageError, match="--listen is for a server that the lab starts"):
        prepare(request, ENGINE, tmp_path)
