"""The private folder of a lab, and the folders that killed labs have left behind."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tlslab.lab.private import clear_stale, private_folder

LAB = """
import time
from tlslab.lab.private import private_folder
with private_folder() as folder:
    (folder / "key.pem").write_text("secret")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_folder_is_the_owners_alone_and_gone_afterwards() -> None:
    with private_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "key.pem").write_text("secret")
    assert not folder.exists()


def test_folders_of_a_killed_lab_are_removed_by_the_next() -> None:
    with subprocess.Popen([sys.executable, "-c", LAB], stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        left = Path(lab.stdout.readline().strip())
        with private_folder():
            assert (left / "key.pem").exists()
        lab.kill()
    assert left.exists()
    with private_folder():
        assert not left.exists()


def test_only_folders_with_a_dead_owner_of_this_namespace_are_removed(tmp_path: Path) -> None:
    namespace = os.stat("/proc/self/ns/pid").st_ino
    dead = subprocess.Popen(["true"])
    dead.wait()
    stale = tmp_path / f"tlslab-{namespace}-{dead.pid}-abc"
    others = [
        tmp_path / name
        for name in (
            f"tlslab-{namespace}-{os.getpid()}-abc",
            f"tlslab-{namespace + 1}-{dead.pid}-abc",
            f"tlslab-{namespace}-{10**30}-abc",
            f"tlslab-{dead.pid}-abc",
            f"tlslab-validate-{dead.pid}",
            "tlslab-runs",
        )
    ]
    for folder in [stale, *others]:
        folder.mkdir()
    target = tmp_path / "other"
    target.mkdir()
    link = tmp_path / f"tlslab-{namespace}-{dead.pid}-link"
    link.symlink_to(target)
    clear_stale()
    assert not stale.exists()
    assert all(folder.exists() for folder in others)
    assert link.is_symlink()
    assert target.exists()
