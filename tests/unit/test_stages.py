"""The stages of the tests: what runs again, what a change touches, the budget."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import run_tests
import stages
from run_tests import Kept
from stages import Counts, Runner, Stage

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ROWS = stages.rows()

# The options that tests/conftest.py adds.
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--stage")
    parser.addoption("--records")
"""

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

SOME = Stage("some", "some tests", "--rootdir . .", parallel=1, again=True)


def runner(folder: Path) -> Runner:
    """Its pytest has the plugins that it needs, and no others: they are imported for each run."""
    bare = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest")
    return Runner(folder / "records", folder, (*bare, "-p", "xdist"))


def run(
    folder: Path, fails: dict[str, tuple[int, ...]], stage: Stage = SOME, *beside: Stage
) -> list[stages.Ended]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(TESTS.format(fails=fails, folder=str(folder)))
    return runner(folder).run([stage], beside)


def test_a_failed_test_runs_once_more_alone(tmp_path: Path) -> None:
    [ended] = run(tmp_path, {"a": (1,), "b": ()})
    assert ended.good
    assert ended.counts == Counts(passed=2)
    assert ended.second_attempt == ["test_some.py::test_of[a]"]
    places = (tmp_path / "places").read_text().splitlines()
    assert sorted(places[:2]) == ["a beside others", "b beside others"]
    assert places[2:] == ["a alone"]


@pytest.mark.parametrize(
    ("fails", "again", "counts"),
    [
        ({"a": (1, 2), "b": (1,)}, True, Counts(1, 1)),
        ({"a": (1,), "b": ()}, False, Counts(1, 1)),
        (dict.fromkeys("abcdefghi", (1,)), True, Counts(0, stages.MOST_AGAIN + 1)),
    ],
)
def test_a_stage_has_failed_with_tests_that_fail_twice_or_are_many(
    tmp_path: Path, fails: dict[str, tuple[int, ...]], again: bool, counts: Counts
) -> None:
    [ended] = run(tmp_path, fails, replace(SOME, again=again))
    assert not ended.good
    assert (ended.counts, ended.second_attempt) == (counts, [])


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 1 filtered out; took 0s",
         Counts(12, 0, 3)),
        ("= 1 failed, 5 passed, 2 skipped, 1 warning in 3.2s =", Counts(5, 1, 2)),
        ("1 passed, 2 errors in 1.22s", Counts(1, 2)),
        ("8 passed, 0 failed", Counts(8)),
        ("it passed: 5 passed, and more", Counts()),
    ],
)  # fmt: skip
def test_closing_lines_are_counted(line: str, counts: Counts) -> None:
    assert stages.counted(f"before\n{line}\nafter\n") == counts


def test_every_stage_is_due_for_some_reason() -> None:
    for stage in ROWS.values():
        assert stage.always != bool(stage.paths), stage.name
        assert bool(stage.pytest) != bool(stage.run), stage.name
        assert set(stage.beside) <= set(ROWS), stage.name
        assert stage.always or stage.seconds > 0, stage.name


def test_patterns_name_files_that_exist() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = listed.stdout.splitlines()
    empty = [
        (stage.name, pattern)
        for stage in ROWS.values()
        for pattern in stage.paths
        if not stages.touched(files, [pattern])
    ]
    assert empty == []
    own = [path for stage in ROWS.values() for path in stage.pytest.split()]
    assert [path for path in own if not (ROOT / path).exists()] == []


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit; run_tests takes it for the project's."""
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "t")
        monkeypatch.setenv(f"{name}_EMAIL", "t@t")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "FULL_RUN", tmp_path / "full-run.toml")
    monkeypatch.setattr(run_tests, "RECORDS", tmp_path / ".git" / "records")
    monkeypatch.setattr(run_tests, "CONTRIBUTING", tmp_path / "CONTRIBUTING.md")
    monkeypatch.setenv(stages.STAGES, "")
    git(tmp_path, "init", "-q")
    commit(tmp_path, "CONTRIBUTING.md", 1)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(folder: Path, file: str, at: int) -> str:
    """Changes a file in a commit of this time; returns the commit."""
    with (folder / file).open("a") as written:
        written.write(f"{at}\n" if at > 1 else "".join(run_tests.TABLE))
    git(folder, "add", ".")
    date = f"{1_700_000_000 + at} +0000"
    subprocess.run(
        ["git", "commit", "-q", "-m", file], cwd=folder, check=True,
        env={**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
    )  # fmt: skip
    return git(folder, "rev-parse", "HEAD")


def stage(name: str, always: bool = False, seconds: int = 5) -> Stage:
    """A stage that tests the file of its name."""
    line = f"cat fails-{name} 2>/dev/null && exit 1; echo '3 passed, 0 failed'"
    paths = () if always else (name,)
    return Stage(name, name, run=line, always=always, paths=paths, seconds=seconds)


THREE = {each.name: each for each in (stage("a"), stage("b"), stage("c"), stage("test", True))}


def test_the_stage_that_has_waited_longest_comes_first(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, "b", 10)
    second = commit(repository, "a", 20)
    commit(repository, "b", 30)
    kept = {name: Kept(first, 5) for name in "abc"}
    assert [each.name for each in run_tests.due(THREE, kept)] == ["b", "a"]
    # A run since then: only the later change is untested.
    assert [each.name for each in run_tests.due(THREE, kept | {"b": Kept(second, 5)})] == ["a", "b"]
    # One that never ran, and one whose commit is in no clone, have waited longest.
    del kept["c"]
    assert [each.name for each in run_tests.due(THREE, kept)] == ["c", "b", "a"]
    kept["a"] = Kept("0" * 40, 5)
    assert [each.name for each in run_tests.due(THREE, kept)] == ["a", "c", "b"]


def changed(monkeypatch: pytest.MonkeyPatch, minutes: float = 1, passed_s: float = 0) -> int:
    monkeypatch.setattr(run_tests, "rows", lambda: THREE)
    monkeypatch.setenv("CI_MINUTES", str(minutes))
    monkeypatch.setenv("CI_STARTED", str(time.time() - passed_s))
    return run_tests.main(["changed"])


def test_a_failed_stage_fails_the_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (repository / "fails-b").touch()
    assert changed(monkeypatch) == 1
    said = capfd.readouterr().out
    assert "failed: b (exit code 1)" in said
    assert said.splitlines()[-1] == "all: 6 passed, 0 failed"


def test_stages_that_passed_are_kept_with_their_commit(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tests, "rows", lambda: THREE)
    at = commit(repository, "fails-b", 10)
    assert run_tests.main(["all"]) == 1
    kept = run_tests.read_full_run(repository / "full-run.toml")
    assert {name: row.commit for name, row in kept.items()} == dict.fromkeys(["a", "c", "test"], at)
    git(repository, "rm", "-q", "fails-b")
    later = commit(repository, "CONTRIBUTING.md", 20)
    assert run_tests.main(["all", "b"]) == 0
    kept = run_tests.read_full_run(repository / "full-run.toml")
    assert (kept["a"].commit, kept["b"].commit) == (at, later)
