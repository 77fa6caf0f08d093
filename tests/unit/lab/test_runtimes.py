from pathlib import Path

import pytest

from tlslab.domain.errors import UsageError
from tlslab.lab.benchmark.runtimes import Runtimes
from tlslab.servers.jdk import BrokenJdk, Jdk, Jdks

FOUND = Jdks(
    (
        Jdk(Path("/jvm/a"), "17.0.15", "Debian"),
        Jdk(Path("/jvm/b"), "17.0.9", "Else"),
        Jdk(Path("/jvm/c"), "25.0.1", "Temurin"),
    ),
    (BrokenJdk(Path("/jvm/br<o>ken"), "it said nothing"),),
)


def test_installations_have_short_names() -> None:
    runtimes = Runtimes.of(FOUND)
    assert list(runtimes.jdks) == ["jdk-17", "jdk-17-2", "jdk-25"]
    assert list(runtimes.broken) == ["jdk-in-br-o-ken"]
    assert runtimes.words(("jdk-25", "engine")) == "jdk-25: JDK 25.0.1 Temurin"


def test_levels_are_expanded() -> None:
    runtimes = Runtimes.of(FOUND)
    every = ("jdk-17", "jdk-17-2", "jdk-25", "jdk-in-br-o-ken", "engine")
    assert runtimes.expand(("jdk", "engine")) == every
    assert runtimes.expand(("jdk-newest", "jdk-25")) == ("jdk-25",)


def test_a_missing_runtime_is_reported() -> None:
    with pytest.raises(UsageError, match="jdk-8") as caught:
        Runtimes.of(FOUND).expand(("jdk-8",))
    assert "jdk-17-2" in caught.value.remedy
    with pytest.raises(UsageError, match="no Java"):
        Runtimes.of(Jdks((), ())).expand(("jdk",))


def test_folders_that_were_given_stand_for_their_levels() -> None:
    given = (Path("/jvm/b"), Path("/jvm/br<o>ken"), Path("/jvm/other"))
    assert Runtimes.of(FOUND).named(given) == ("jdk-17-2", "jdk-in-br-o-ken")
