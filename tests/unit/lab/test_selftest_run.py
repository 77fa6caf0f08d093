"""A self-test by the lab: the number of tries that fit, and the use of the result."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from factories.run import World, environment, made_run
from factories.worded import summarise
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.events import Event
from tlslab.experiment import dumps
from tlslab.lab import experiment_run as lab_run
from tlslab.lab import selftest_run as lab
from tlslab.lab.experiment_run import Request as RunRequest
from tlslab.lab.experiment_run import Result as RunResult
from tlslab.lab.store import RunFolder
from tlslab.lab.store.selftest_file import read_selftest

QUICK = {"5%": 1.05, "10%": 1.10}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("TLSLAB_SHORT_RUNS", raising=False)


def instead(folder: Path, blocks: int | None = None) -> Callable[..., RunResult]:
    """A made-up run in place of a real one; it ended after N blocks."""

    def execute(request: RunRequest, observer: Callable[[Event], None]) -> RunResult:
        contents = made_run(World(noise=0.002, slower=QUICK), experiment=request.experiment)
        kept = [t for t in contents.trials if blocks is None or t.block < blocks]
        found = RunFolder.create(
            folder,
            dumps(request.experiment),
            contents.plan,
            environment(World(), contents.plan),
        )
        for trial in kept:
            found.append(trial)
        summary = summarise(replace(contents, trials=tuple(kept)))
        return RunResult(folder, summary, "" if blocks is None else "interrupted")

    return execute


def asked(budget_s: float) -> lab.SelftestRequest:
    return lab.SelftestRequest(budget_s, ("tlslab", "selftest"), quick=True)


def test_the_budget_decides_on_the_tries_and_the_result_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_run, "execute", instead(tmp_path / "run"))
    result = lab.selftest(asked(60.0), lambda event: None)
    assert [each.alarms.tries for each in result.selftest.by] == [2, 2]
    assert [each.found.found for each in result.selftest.by[0].planted] == [2, 2]
    assert not result.interrupted
    assert read_selftest() == result.selftest


def test_an_interrupted_one_has_the_tries_that_were_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_run, "execute", instead(tmp_path / "run", blocks=7))
    result = lab.selftest(asked(60.0), lambda event: None)
    assert result.interrupted
    assert [each.alarms.tries for each in result.selftest.by] == [1, 1]


def test_without_a_finished_try_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_run, "execute", instead(tmp_path / "run", blocks=3))
    with pytest.raises(CannotRunError, match="no try was finished"):
        lab.selftest(asked(60.0), lambda event: None)
    assert read_selftest() is None


def test_a_budget_without_room_for_a_try_is_refused() -> None:
    with pytest.raises(UsageError, match="the first try takes some 33 s"):
        lab.selftest(asked(20.0), lambda event: None)
