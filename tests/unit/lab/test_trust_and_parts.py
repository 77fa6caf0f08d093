"""The authorities to trust, and the parts of a run that are missing."""

import os
import stat
from pathlib import Path

import pytest

from tlslab.cli.carrying_out import provide
from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.experiment import load, with_levels
from tlslab.lab import required_parts
from tlslab.lab.discovery import with_status_remedy
from tlslab.lab.experiment_run import missing_parts
from tlslab.lab.request import Request, whom_to_trust
from tlslab.lab.required_parts import MissingPart, make

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def in_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Acts as if tlslab ran from this checkout; the tests also run against the installed wheel."""
    monkeypatch.setattr(required_parts, "SCRIPTS", CHECKOUT / "scripts")


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----", b"\x30\x82\xff\xfe"])
def test_a_file_without_a_certificate_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"ca\.pem: the file holds no certificate") as caught:
        whom_to_trust(path, insecure=False)
    assert "BEGIN CERTIFICATE" in caught.value.remedy


def test_words_around_a_certificate_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("Müller's own\n-----BEGIN CERTIFICATE-----\n", "utf-8")
    assert "BEGIN CERTIFICATE" in whom_to_trust(path, insecure=False)
    assert whom_to_trust(None, insecure=False) == "system"
    assert whom_to_trust(path, insecure=True) == "anyone"


@pytest.mark.parametrize(
    ("status", "words"),
    [(302, "it redirects"), (401, "asks for a login"), (404, "a page that is there")],
)
def test_a_status_has_a_remedy_that_fits(status: int, words: str) -> None:
    error = with_status_remedy(EngineError("http_status", "h answered", status=status))
    assert words in error.remedy
    assert f"--expect-status {status}" in error.remedy
    other = EngineError("reset", "h answered with status 302 once", "r")
    assert with_status_remedy(other).remedy == "r"


@pytest.mark.usefixtures("in_checkout")
def test_the_parts_of_a_study_are_found_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSLAB_BENCHMARKS_JAR", "/nowhere.jar")
    monkeypatch.setenv("TLSLAB_SIGNER", "/nowhere")
    study = Request(load("concurrency", "quick"), ("reference",), ("tlslab",))
    names = [part.name for part in missing_parts(study)]
    assert names[:2] == ["benchmarks.jar", "tlslab-signer"]
    few = with_levels(study.experiment, {"runtime": ("engine",), "keys": ("memory",)})
    assert missing_parts(Request(few, ("reference",), ("tlslab",))) == ()


@pytest.mark.usefixtures("in_checkout")
def test_tomcat_is_a_part_of_its_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("CATALINA_HOME", str(tmp_path))
    study = Request(load("runtimes", "quick"), ("tomcat",), ("tlslab",))
    found = {part.name: part.commands for part in missing_parts(study)}
    assert found["tomcat"] == "scripts/install-java.sh"
    assert missing_parts(Request(load("groups"), ("https://h/",), ("tlslab",))) == ()


def test_outside_of_a_checkout_nothing_is_offered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLSLAB_BENCHMARKS_JAR", "/nowhere.jar")
    monkeypatch.setattr(required_parts, "SCRIPTS", tmp_path)
    study = Request(load("concurrency", "quick"), ("reference",), ("tlslab",))
    assert missing_parts(study) == ()


@pytest.mark.usefixtures("in_checkout")
def test_without_a_terminal_and_without_yes_nothing_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TLSLAB_BENCHMARKS_JAR", "/nowhere.jar")
    monkeypatch.setattr("sys.argv", ["tlslab", "run", "concurrency", "--quick"])
    study = Request(load("concurrency", "quick"), ("reference",), ("tlslab",))
    with pytest.raises(CannotRunError, match=r"benchmarks\.jar") as caught:
        provide(study, yes=False)
    assert caught.value.exit_code == 3
    assert "tlslab run concurrency --quick --yes" in caught.value.remedy
    assert "scripts/build-java.sh" in caught.value.remedy


def script(folder: Path, text: str) -> MissingPart:
    path = folder / "build.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    os.chmod(path, path.stat().st_mode | stat.S_IXUSR)
    return MissingPart("part", "a part", 1, (("build.sh", "word"),))


def test_a_part_is_made_by_its_script_without_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(required_parts, "SCRIPTS", tmp_path)
    reported: list[str] = []
    make(script(tmp_path, f'echo pages; echo "$1" >{tmp_path}/made'), reported.append)
    assert reported == []
    assert (tmp_path / "made").read_text() == "word\n"


def test_a_part_that_cannot_be_made_is_reported_in_the_scripts_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(required_parts, "SCRIPTS", tmp_path)
    reported: list[str] = []
    with pytest.raises(CannotRunError, match=r"scripts/build\.sh ended with 3") as caught:
        make(script(tmp_path, "seq 1000; echo no compiler >&2; exit 3"), reported.append)
    assert reported[-1] == "  no compiler"
    assert len(reported) <= 12
    assert "build.sh word" in caught.value.remedy
