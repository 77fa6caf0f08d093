"""A cluster that cannot be started is reported in one line."""

import os
import sys
from pathlib import Path

import pytest

from factories.no_home import without_home
from tlslab.domain.errors import CannotRunError
from tlslab.servers import signer
from tlslab.servers.process import ServerProcess
from tlslab.servers.signer import (
    ClusterSetting,
    SigningCluster,
    SigningNode,
    Throttle,
    find_signer,
    signing_cluster,
)

# Three threads beside the main one.
THREADS = """
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(60,)).start()
print("up", flush=True)
"""


def _script(folder: Path, text: str) -> str:
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def _setting(folder: Path) -> ClusterSetting:
    return ClusterSetting(folder / "cluster", folder / "key.pem", isolated=False)


def test_the_program_is_where_it_was_built_or_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TLSLAB_SIGNER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_signer() is None
    built = tmp_path / "tlslab" / "signer" / "current"
    built.mkdir(parents=True)
    _script(built, "")
    (built / "program").rename(built / "tlslab-signer")
    assert find_signer() == str(built / "tlslab-signer")
    named = _script(tmp_path, "")
    monkeypatch.setenv("TLSLAB_SIGNER", named)
    assert find_signer() == named
    monkeypatch.delenv("TLSLAB_SIGNER")
    monkeypatch.delenv("XDG_CACHE_HOME")
    without_home(monkeypatch)
    assert find_signer() is None


def test_nodes_are_kept_on_their_processors_with_all_threads_and_set_free_again(
    tmp_path: Path,
) -> None:
    process = ServerProcess([sys.executable, "-c", THREADS], tmp_path / "log", capture=True)
    try:
        assert process.popen.stdout is not None
        assert process.popen.stdout.readline() == b"up\n"
        node = SigningNode("a", "https://127.0.0.1:1", 1, process, Throttle(process.pid))
        cluster = SigningCluster((node,), tmp_path / "signers.json", "made up", "")
        threads = [int(name) for name in os.listdir(f"/proc/{process.pid}/task")]
        own = os.sched_getaffinity(0)
        assert len(threads) == 4
        with cluster.on({min(own)}):
            assert [os.sched_getaffinity(thread) for thread in threads] == [{min(own)}] * 4
        assert [os.sched_getaffinity(thread) for thread in threads] == [own] * 4
    finally:
        process.stop()


def test_without_the_program_it_is_said_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSLAB_SIGNER", str(tmp_path / "none"))
    with (
        pytest.raises(CannotRunError, match="tlslab-signer is not installed") as caught,
        signing_cluster(_setting(tmp_path)),
    ):
        pass
    assert "scripts/build-signer.sh" in caught.value.remedy


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo tlslab-signer: no luck >&2; exit 1", "tlslab-signer: no luck"),
        ("exit 0", "it says nothing"),
        ("echo good morning; sleep 60", "it says 'good morning'"),
    ],
)
def test_a_node_that_does_not_start_says_why(
    script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signer, "find_signer", lambda: _script(tmp_path, script))
    (tmp_path / "key.pem").write_text("")
    with (
        pytest.raises(CannotRunError, match="the signing node does not start") as caught,
        signing_cluster(_setting(tmp_path)),
    ):
        pass
    assert words in caught.value.message
