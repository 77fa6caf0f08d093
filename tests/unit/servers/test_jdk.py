"""Java installations are each found once; those that do not start are reported."""

from pathlib import Path

import pytest

from tlslab.domain.errors import UsageError
from tlslab.servers import jdk as jdk_module
from tlslab.servers.jdk import BrokenJdk, Jdk, ask, expand, find_jdk, find_jdks, java_environment

VERSION = """\
echo 'openjdk version "%s" 2025-04-15' >&2
"""


def install(home: Path, body: str, release: str = "") -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{body}", "utf-8")
    java.chmod(0o755)
    if release:
        (home / "release").write_text(release, "utf-8")
    return home


def test_the_release_file_reports_version_and_vendor(tmp_path: Path) -> None:
    release = 'IMPLEMENTOR="Eclipse Adoptium"\nJAVA_VERSION="25.0.3"\nSOURCE=""\nnot a line\n'
    home = install(tmp_path / "a", VERSION % "24.1", release)
    found = ask(home)
    assert found == Jdk(home, "25.0.3", "Eclipse Adoptium")
    assert found.label == "JDK 25.0.3 Eclipse Adoptium"
    assert (found.feature, found.java) == (25, home / "bin" / "java")


def test_without_a_release_file_it_is_asked(tmp_path: Path) -> None:
    found = ask(install(tmp_path / "a", VERSION % "1.8.0_392"))
    assert isinstance(found, Jdk)
    assert (found.version, found.feature, found.label) == ("1.8.0_392", 8, "JDK 1.8.0_392")


def test_each_is_found_once_wherever_it_is_named(tmp_path: Path) -> None:
    root = tmp_path / "jvm"
    newer = install(root / "b-newer", VERSION % "25")
    older = install(root / "c-older", VERSION % "17.0.1")
    (root / "default-java").symlink_to(newer)
    (root / "openjdk-17").mkdir()  # only sources
    own = install(tmp_path / "own", VERSION % "21")
    path = tmp_path / "bin"
    path.mkdir()
    (path / "java").symlink_to(newer / "bin" / "java")
    environment = {"JAVA_HOME": str(older), "PATH": str(path)}
    jdks = find_jdks([own, root / "default-java"], environment, root)
    assert [jdk.home for jdk in jdks.found] == [older, own, newer]
    assert jdks.broken == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo 'Error: could not find libjava.so' >&2; exit 1", "ended with 1: Error: could not"),
        ("exit 3", "ended with 3: it said nothing"),
        ("echo something else", "gave no version"),
        ("exec sleep 60", "did not end within"),
    ],
)
def test_one_that_does_not_start_is_reported_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    monkeypatch.setattr(jdk_module, "START_S", 0.3 if "sleep" in body else 20.0)
    install(tmp_path / "jvm" / "broken", body)
    jdks = find_jdks((), {}, tmp_path / "jvm")
    assert jdks.found == ()
    assert len(jdks.broken) == 1
    assert words in jdks.broken[0].reason


def test_a_given_folder_without_java_is_reported(tmp_path: Path) -> None:
    jdks = find_jdks([tmp_path / "nothing"], {}, tmp_path / "no-root")
    assert jdks.broken == (
        BrokenJdk(
            tmp_path / "nothing", f"{tmp_path}/nothing holds no bin/java that can be started"
        ),
    )


def test_a_program_of_another_architecture_is_reported(tmp_path: Path) -> None:
    home = install(tmp_path / "a", "")
    (home / "bin" / "java").write_bytes(b"\x7fELF not for this machine")
    found = ask(home)
    assert isinstance(found, BrokenJdk)
    assert "Exec format error" in found.reason


def test_levels_are_short_names_or_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "jvm"
    for folder, version in (("a", "17.0.1"), ("b", "17.0.9"), ("c", "25")):
        install(root / folder, VERSION % version)
    install(root / "d e", "exit 1")
    own = install(tmp_path / "own", VERSION % "21")
    found = find_jdks((), {}, root)
    monkeypatch.setattr(jdk_module, "find_jdks", lambda: found)
    names = ("jdk-17", "jdk-17-2", "jdk-25", "jdk-in-d-e")
    assert expand(["jdk"], []) == names
    assert expand(["jdk-25"], [own, root / "a"]) == ("jdk-25", str(own), "jdk-17")
    assert find_jdk("jdk-17-2") == Jdk(root / "b", "17.0.9")
    assert isinstance(find_jdk("jdk-in-d-e"), BrokenJdk)
    assert find_jdk(str(own)) == Jdk(own, "21")
    other = install(tmp_path / "other" / "own", VERSION % "25")
    with pytest.raises(UsageError, match=f"call both {own} and {other} 'own'"):
        expand([], [own, other])
    with pytest.raises(UsageError, match="no Java installation 'jdk-8' here") as caught:
        find_jdk("jdk-8")
    assert caught.value.remedy == "there are: jdk-17, jdk-17-2, jdk-25, jdk-in-d-e"


def test_a_machine_without_java_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nothing = find_jdks((), {}, tmp_path)
    monkeypatch.setattr(jdk_module, "find_jdks", lambda: nothing)
    with pytest.raises(UsageError, match="no Java installation was found"):
        expand(["jdk"], [])


def test_options_from_the_environment_do_not_reach_a_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xint")
    monkeypatch.setenv("LANG", "C")
    assert "JAVA_TOOL_OPTIONS" not in java_environment()
    assert java_environment()["LANG"] == "C"
