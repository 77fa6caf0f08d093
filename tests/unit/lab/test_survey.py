"""The survey of servers: a missing server or a failed start is reported, and affects no other."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from factories.offered import offered
from tlslab.cli.targets import _lines
from tlslab.contract.probe import OfferFound, Refusal, Unanswered, VersionFound
from tlslab.domain.errors import CannotRunError
from tlslab.domain.names import SUITES
from tlslab.lab.engine import Engine
from tlslab.lab.survey import examine, survey
from tlslab.servers import Kind, Setting, Target
from tlslab.servers.registry import Installation

ENGINE = cast(Engine, None)


def broken(setting: Setting) -> Target:
    assert Path(setting.folder).is_dir()
    raise CannotRunError("unknown directive 'ssl'", "build it with TLS")


def test_a_missing_server_has_its_remedy() -> None:
    kind = Kind("it", lambda: None, broken, "apt-get install it", frozenset({"workers"}))
    found = examine(ENGINE, kind)
    assert (found.problem, found.remedy) == ("not installed", "apt-get install it")
    assert (found.software, found.takes) == (None, ("workers",))


class Started:
    """A target that starts."""

    trust_pem = ""

    def prepare(self) -> None:
        """Prepares nothing."""

    def start(self) -> Any:
        return SimpleNamespace(url="https://127.0.0.1:1/", stop=lambda: None)


def started(_: Setting) -> Target:
    return cast(Target, Started())


def test_a_probe_without_an_answer_is_unknown() -> None:
    silence = Refusal("timeout_handshake", "gave no answer in 5 s, nor in 15 s")
    abilities = replace(
        offered(),
        versions=(VersionFound("1.3", True), VersionFound("1.2", None)),
        offers=(*(OfferFound(True) for _ in SUITES[:-1]), OfferFound(None, silence)),
        groups=(),
        certificates=(),
        alpn=None,
        unanswered=(Unanswered("versions", "TLS 1.2", silence),),
    )
    kind = Kind("it", lambda: Installation("/bin/it", "it/1", "L"), started, "get it")
    engine = SimpleNamespace(probe=lambda _: abilities)
    found = examine(cast(Engine, engine), kind)
    assert (found.problem, found.versions) == (None, ("1.3",))
    words = "the server gave no answer in 5 s, nor in 15 s"
    assert found.unknown == (f"TLS 1.2: {words}", f"{SUITES[-1].name}: {words}")
    assert SUITES[-1].name not in {name for names in found.suites.values() for name in names}
    assert ("not known", "; ".join(found.unknown)) in list(_lines(found))


def test_a_server_that_does_not_start_is_reported_in_its_words() -> None:
    there = Kind("it", lambda: Installation("/bin/it", "it/1", "OpenSSL 1"), broken, "get it")
    gone = Kind("that", lambda: None, broken, "get that")
    found = survey(ENGINE, {"it": there, "that": gone})
    assert [each.problem for each in found] == ["unknown directive 'ssl'", "not installed"]
    assert found[0].software == "it/1"
    assert found[0].remedy == "build it with TLS"
