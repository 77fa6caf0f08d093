"""scripts/once_more.sh: which failed tests get a second run, and which outcome counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each test counts its runs in a file; the numbers of the runs in which it fails are given.
TESTS = """
from pathlib import Path
import pytest

FAILS = {fails!r}

@pytest.mark.parametrize("name", sorted(FAILS))
def test_of(name, request):
    beside = "beside others" if hasattr(request.config, "workerinput") else "alone"
    with Path({folder!r}, "places").open("a") as places:
        print(name, beside, file=places)
    counted = Path({folder!r}, name)
    run = len(counted.read_text()) + 1 if counted.exists() else 1
    counted.write_text("." * run)
    assert run not in FAILS[name]
"""


def once_more(
    folder: Path, fails: dict[str, tuple[int, ...]], **variables: str
) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(TESTS.format(fails=fails, folder=str(folder)))
    return subprocess.run(
        [
            ROOT / "scripts/once_more.sh", "-n", "2", "--",
            sys.executable, "-m", "pytest", "--rootdir", ".", "test_some.py",
        ],
        cwd=folder,
        env={**os.environ, "TLSLAB_STAGES": "", "TLSLAB_BESIDE": "", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )  # fmt: skip


def runs(folder: Path, name: str) -> int:
    return len((folder / name).read_text())


def test_tests_that_pass_run_once(tmp_path: Path) -> None:
    ended = once_more(tmp_path, {"a": (), "b": ()})
    assert ended.returncode == 0
    assert "once more" not in ended.stdout
    assert (runs(tmp_path, "a"), runs(tmp_path, "b")) == (1, 1)


def test_a_failed_test_alone_runs_again_and_both_outcomes_are_shown(tmp_path: Path) -> None:
    ended = once_more(tmp_path, {"a": (1,), "b": ()})
    assert ended.returncode == 0, ended.stdout
    assert (runs(tmp_path, "a"), runs(tmp_path, "b")) == (2, 1)
    first, _, second = ended.stdout.partition("once more")
    assert "1 failed, 1 passed" in first
    assert "test_some.py::test_of[a]" in second
    assert "1 passed" in second
    places = (tmp_path / "places").read_text().splitlines()
    assert sorted(places[:2]) == ["a beside others", "b beside others"]
    assert places[2:] == ["a alone"]


def test_what_fails_twice_has_failed(tmp_path: Path) -> None:
    ended = once_more(tmp_path, {"a": (1, 2), "b": (1,)})
    assert ended.returncode == 1
    assert "1 failed, 1 passed" in ended.stdout.partition("once more")[2]


@pytest.mark.parametrize(("failed", "again"), [(3, True), (4, False)])
def test_many_failed_tests_are_no_disturbance(tmp_path: Path, failed: int, again: bool) -> None:
    ended = once_more(tmp_path, {str(number): (1,) for number in range(failed)})
    assert ended.returncode == (0 if again else 1)
    assert ("once more" in ended.stdout) is again


@pytest.mark.parametrize("broken", ["conftest.py", "test_other.py"])
def test_files_that_cannot_be_imported_have_no_second_run(tmp_path: Path, broken: str) -> None:
    (tmp_path / broken).write_text("raise ValueError('broken')\n")
    ended = once_more(tmp_path, {"a": ()}, PYTEST_ADDOPTS=f". --rootdir {tmp_path}")
    assert ended.returncode != 0
    assert "broken" in ended.stdout + ended.stderr
    assert "once more" not in ended.stdout


def test_the_stages_name_what_passed_at_the_second_attempt(tmp_path: Path) -> None:
    stages = tmp_path / "stages"
    assert once_more(tmp_path, {"a": (1, 2)}, TLSLAB_STAGES=str(stages)).returncode == 1
    assert not stages.exists()
    for name in ("a", "places"):
        (tmp_path / name).unlink()
    assert once_more(tmp_path, {"a": (1,)}, TLSLAB_STAGES=str(stages)).returncode == 0
    seconds, title = stages.read_text().rstrip("\n").split("\t")
    assert seconds == "0"
    assert title == "passed at the second attempt only: test_some.py::test_of[a]"


def test_the_second_run_waits_for_what_runs_beside(tmp_path: Path) -> None:
    """Through scripts/beside.sh: the other has ended when the second run starts."""
    places = tmp_path / "places"
    other = f"until [ -e {places} ]; do sleep 0.1; done; sleep 5; echo other >>{places}"
    (tmp_path / "test_some.py").write_text(TESTS.format(fails={"a": (1,)}, folder=str(tmp_path)))
    line = [sys.executable, "-m", "pytest", "--rootdir", ".", "test_some.py"]
    ended = subprocess.run(
        [ROOT / "scripts/beside.sh", other, ROOT / "scripts/once_more.sh", "--", *line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert places.read_text().splitlines() == ["a alone", "other", "a alone"]
