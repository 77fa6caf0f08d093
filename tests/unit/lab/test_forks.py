from pathlib import Path
from typing import Any

import pytest

from tlslab.domain.benchmark import BenchmarkSettings
from tlslab.domain.errors import CannotRunError
from tlslab.lab.benchmark.jmh import (
    Fork,
    ForkFailedError,
    command,
    failure_words,
    find_jar,
    run_fork,
)
from tlslab.lab.benchmark.keystores import KeyStore
from tlslab.servers.jdk import Jdk

SETTINGS = BenchmarkSettings(("throughput", "sample"), 1, 100, 2, 200)


def fork(home: Path, benchmark: str = "handshake-tls12", **more: Any) -> Fork:
    return Fork(
        Jdk(home, "17"), Path("/b.jar"), benchmark, KeyStore("pkcs11", **more), 4,
        Path("/s.properties"), SETTINGS,
    )  # fmt: skip


def test_the_command_line_says_all_that_is_set() -> None:
    line = " ".join(command(fork(Path("/jdk")), Path("/r.json")))
    assert line.startswith("/jdk/bin/java -jar /b.jar ^tlslab[.]Handshakes[.]handshake$ ")
    assert "-bm thrpt,sample -tu s -f 1 -wi 1 -w 100ms -i 2 -r 200ms -t 4" in line
    assert "-rf json -rff /r.json" in line
    assert "-p keys=pkcs11 -p tls=1.2" in line
    assert "-Dtlslab.settings=/s.properties" in line


def test_drawing_has_no_parameters() -> None:
    assert "-p" not in command(fork(Path("/jdk"), "draw"), Path("/r.json"))


def test_the_reason_is_found_in_the_output() -> None:
    output = """# JMH version: 1.37
# Run progress: 0.00% complete
Iteration   1: <failure>

java.lang.IllegalStateException: PKCS #11: CKR_PIN_INCORRECT
\tat tlslab.keys.Pkcs11.open(Pkcs11.java:32)
\t... 12 more
"""
    assert failure_words(output) == ("java.lang.IllegalStateException: PKCS #11: CKR_PIN_INCORRECT")
    assert failure_words("one\ntwo") == "one two"


def made_java(folder: Path, script: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return folder


def test_a_virtual_machine_that_does_not_start_is_a_reason(tmp_path: Path) -> None:
    home = made_java(tmp_path, "echo 'Error: could not create the VM' >&2; exit 1")
    with pytest.raises(ForkFailedError, match="could not create the VM") as caught:
        run_fork(fork(home), tmp_path / "r.json", tmp_path / "log")
    assert caught.value.class_ == "benchmark_failed"


def test_a_fork_without_a_result_is_a_reason_though_it_ended_well(tmp_path: Path) -> None:
    home = made_java(tmp_path, "echo '[]' > \"$(echo \"$*\" | sed 's/.*-rff \\([^ ]*\\).*/\\1/')\"")
    with pytest.raises(ForkFailedError):
        run_fork(fork(home), tmp_path / "r.json", tmp_path / "log")


def test_the_environment_of_the_key_store_is_the_forks(tmp_path: Path) -> None:
    home = made_java(tmp_path, 'echo "Error: conf is $SOFTHSM2_CONF $JAVA_TOOL_OPTIONS"; exit 1')
    with pytest.raises(ForkFailedError, match=r"conf is /x$"):
        run_fork(
            fork(home, environment={"SOFTHSM2_CONF": "/x"}), tmp_path / "r.json", tmp_path / "log"
        )


def test_a_missing_jar_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSLAB_BENCHMARKS_JAR", "/nowhere.jar")
    with pytest.raises(CannotRunError, match="nowhere") as caught:
        find_jar()
    assert "scripts/build-java.sh" in caught.value.remedy
