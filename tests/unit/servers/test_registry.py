"""The kinds of servers: the settings that each accepts, and those rejected before any start."""

from dataclasses import replace
from pathlib import Path

import pytest

from tlslab.domain.deployment import MANAGED_SERVERS, Deployment
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.factors import FACTORS
from tlslab.domain.levels import NO_LEVELS, Levels
from tlslab.servers import (
    MANAGED,
    Kind,
    Running,
    Setting,
    build,
    find_kind,
    lacking,
    registry,
    with_one_key,
)
from tlslab.servers.process import ServerProcess


def test_servers_without_tls_are_those_that_can_stand_behind_a_front() -> None:
    for name, kind in MANAGED.items():
        reason = lacking(Deployment(name, plain=True))
        assert (reason is None) == kind.plain, name


class Made:
    """A server that records its settings."""

    name = "made"
    backend = "none"
    software = "made/1"
    trust_pem = ""
    path = "/it"

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.upstreams: tuple[str, ...] = ()
        self.started: list[ServerProcess] = []

    def prepare(self) -> dict[tuple[str, str], str]:
        return {("group", "X448"): f"{self.setting.plain}"}

    def start(self, *upstreams: str) -> Running:
        self.upstreams = upstreams
        if self.setting.document_bytes == 1:
            raise CannotRunError("it does not start")
        process = ServerProcess(["sleep", "60"], self.setting.folder / "log")
        self.started.append(process)
        return Running(f"http://127.0.0.1:1{self.path}", process)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Made]:
    """Two kinds in place of the real ones, and all servers that were made."""
    servers: list[Made] = []

    def make(setting: Setting) -> Made:
        servers.append(Made(setting))
        return servers[-1]

    takes = frozenset({"workers", "dh_bits"})
    kinds = {
        "back": Kind("back", lambda: None, make, "get it", takes, plain=True),
        "tls": Kind("tls", lambda: None, make, "get it"),
        "jvm": Kind("jvm", lambda: None, make, "get it", frozenset({"workers", "jdk"})),
        "front": Kind("front", lambda: None, make, "get it", takes, front=make, passes_tls=True),
    }
    monkeypatch.setattr(registry, "MANAGED", kinds)
    return servers


STAPLING = Levels.of(ocsp_stapling="on")


def setting(folder: Path) -> Setting:
    return Setting(folder, ("ecdsa-p256",), ("X25519",), 100, (0,), http2=True)


def test_unknown_names_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="unknown target 'iis'") as caught:
        find_kind("iis")
    assert "nginx, " in caught.value.remedy


def test_a_setting_that_a_server_does_not_take_is_a_reason() -> None:
    assert lacking(Deployment("nginx", levels=Levels.of(workers="2", dh_bits="1024"))) is None
    assert (
        lacking(Deployment("nginx", levels=Levels.of(jdk="/jdk"))) == "nginx does not take jdk=/jdk"
    )
    front = lacking(Deployment("nginx", front="caddy"))
    assert front == "caddy cannot terminate TLS before another server"
    assert lacking(Deployment("reference", front="haproxy")) is None
    assert lacking(Deployment("reference", front="haproxy-tcp:2")) is None
    assert lacking(Deployment("reference", front="nginx-tcp")) == (
        "nginx is not set up to pass TLS through"
    )
    with pytest.raises(CannotRunError, match="does not take connector=jsse"):
        build(Deployment("haproxy", levels=Levels.of(connector="jsse")), setting(Path("/nowhere")))


def test_a_server_that_staples_from_no_file_is_named_with_those_that_do() -> None:
    reason = lacking(Deployment("apache", levels=STAPLING))
    assert reason == (
        "apache staples no OCSP response from a file: these do: reference, reference-rustls, node, "
        "nginx, haproxy"
    )
    # Every server can work without it.
    assert all(lacking(Deployment(name)) is None for name in MANAGED)
    # The front terminates TLS.
    assert lacking(Deployment("caddy", front="nginx", levels=STAPLING)) is None


def test_the_server_behind_a_front_staples_nothing(
    made: list[Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {name: replace(kind, factors=kind.factors | {"ocsp_stapling"})
             for name, kind in registry.MANAGED.items()}  # fmt: skip
    monkeypatch.setattr(registry, "MANAGED", kinds)
    build(Deployment("back", front="front", levels=STAPLING), setting(tmp_path))
    back, front = made
    assert (back.setting.levels, front.setting.levels) == (NO_LEVELS, STAPLING)


def test_one_response_is_of_one_certificate() -> None:
    stapling, keys = Deployment("nginx", levels=STAPLING), ("ecdsa-p256", "rsa-2048")
    assert list(with_one_key(stapling, keys)) == [("ocsp_stapling", "on")]
    assert with_one_key(stapling, keys[:1]) == with_one_key(Deployment("nginx"), keys) == {}
    assert with_one_key(replace(stapling, server="haproxy"), keys) == {}


def test_a_deployment_fills_in_the_setting(made: list[Made], tmp_path: Path) -> None:
    build(Deployment("back", levels=Levels.of(workers="3", dh_bits="2048")), setting(tmp_path))
    assert made[0].setting == replace(
        setting(tmp_path), levels=Levels.of(workers="3", dh_bits="2048")
    )


@pytest.mark.parametrize("threads", [None, 8])
def test_workers_are_the_threads_of_a_jvm_alone(
    made: list[Made], threads: int | None, tmp_path: Path
) -> None:
    """The number of processors is a default for processes, not for the threads of a JVM."""
    levels = Levels.of({"workers": str(threads)} if threads else {})
    deployment = Deployment("jvm", front="front", levels=levels)
    build(deployment, replace(setting(tmp_path), processors=(0, 1)))
    assert made[0].setting.levels.number("workers") == threads
    assert made[1].setting.workers == 2


@pytest.mark.parametrize("name", ["back", "tls"])
def test_a_front_passes_on_to_a_server_that_is_plain_if_it_can(
    made: list[Made], name: str, tmp_path: Path
) -> None:
    target = build(Deployment(name, front="front"), setting(tmp_path))
    back, front = made
    assert back.setting.plain == (name == "back")
    assert (back.setting.folder, front.setting.folder) == (tmp_path / "back", tmp_path)
    assert (back.setting.http2, front.setting.http2) == (False, True)
    # Features that the server behind a front lacks do not matter to clients.
    assert target.prepare() == {("group", "X448"): "False"}
    running = target.start()
    assert front.upstreams == ("http://127.0.0.1:1/it",)
    assert len(running.process.tree()) == 2
    back.started[0].stop()
    assert not running.process.alive()
    assert running.process.tree() == []
    running.stop()
    assert not front.started[0].alive()


def test_a_front_that_passes_tls_on_has_none_and_the_servers_behind_terminate_it(
    made: list[Made], tmp_path: Path
) -> None:
    deployment = Deployment("tls", front="front-tcp:2")
    target = build(deployment, replace(setting(tmp_path), processors=(0, 1)))
    *backs, front = made
    assert [each.setting.plain for each in made] == [False, False, True]
    assert front.setting.passes_tls
    assert [each.setting.folder.name for each in backs] == ["back", "back-2"]
    # Each server behind has its share of the processors; the front has all.
    assert [each.setting.processors for each in made] == [(0,), (1,), (0, 1)]
    assert target.prepare() == {("group", "X448"): "False"}
    running = target.start()
    assert len(front.upstreams) == 2
    assert len(running.process.tree()) == 3
    backs[1].started[0].stop()
    assert not running.process.alive()
    running.stop()


def test_the_server_behind_is_stopped_when_the_front_does_not_start(
    made: list[Made], tmp_path: Path
) -> None:
    target = build(Deployment("back", front="front"), setting(tmp_path))
    back, front = made
    front.setting = replace(front.setting, document_bytes=1)
    with pytest.raises(CannotRunError, match="it does not start"):
        target.start()
    assert not back.started[0].alive()


def test_the_names_of_the_model_are_those_of_the_kinds() -> None:
    assert tuple(MANAGED) == MANAGED_SERVERS


def test_every_kind_says_how_it_can_be_had() -> None:
    for name, kind in MANAGED.items():
        assert kind.name == name
        assert kind.remedy
        assert {FACTORS[name].side for name in kind.factors} == {"server"}
        assert kind.one_key.keys() <= kind.factors
