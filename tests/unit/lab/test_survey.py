"""The survey of servers: a missing server or a failed start is reported, and affects no other."""

from pathlib import Path
from typing import cast

from tlslab.lab.engine import Engine
from tlslab.lab.survey import examine, survey
from tlslab.model.errors import CannotRunError
from tlslab.targets import Kind, Setting, Target
from tlslab.targets.registry import Installation

ENGINE = cast(Engine, None)


def broken(setting: Setting) -> Target:
    assert Path(setting.folder).is_dir()
    raise CannotRunError("unknown directive 'ssl'", "build it with TLS")


def test_what_is_missing_has_its_remedy() -> None:
    kind = Kind("it", lambda: None, broken, "apt-get install it", frozenset({"workers"}))
    found = examine(ENGINE, kind)
    assert (found.problem, found.remedy) == ("not installed", "apt-get install it")
    assert (found.software, found.takes) == (None, ("workers",))


def test_what_does_not_start_has_its_own_words() -> None:
    there = Kind("it", lambda: Installation("/bin/it", "it/1", "OpenSSL 1"), broken, "get it")
    gone = Kind("that", lambda: None, broken, "get that")
    found = survey(ENGINE, {"it": there, "that": gone})
    assert [each.problem for each in found] == ["unknown directive 'ssl'", "not installed"]
    assert found[0].software == "it/1"
    assert found[0].remedy == "build it with TLS"
