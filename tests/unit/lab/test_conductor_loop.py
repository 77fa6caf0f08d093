"""The conductor's loop, with a made-up agenda."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from factories.run import made_run
from tlslab.domain.errors import NoGeneratorError
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import dumps
from tlslab.lab.conductor import carry_out, ended_early
from tlslab.lab.serving import NoBenchError
from tlslab.lab.store import RunFolder

MADE = made_run(quick=True)


@dataclass
class MadeUp:
    """An agenda with one visit of two trials on one bench; a log of the calls in their order."""

    trials_of_visit: tuple[Trial, ...] = MADE.trials[:2]
    no_bench: bool = False
    stop_after: int | None = None
    lost_after: int | None = None
    log: list[str] = field(default_factory=list)

    def visits(self, earlier: Sequence[Trial]) -> Iterator["MadeUp"]:
        self.log.append(f"{len(earlier)} before")
        yield self

    @property
    def block(self) -> int:
        return self.trials_of_visit[0].block

    def goes_on(self, trial: Trial) -> bool:
        return trial.trial != self.trials_of_visit[-1].trial

    def kept(self, trial: Trial) -> None:
        self.log.append(f"kept {trial.trial} {trial.status}")
        if self.stop_after == trial.trial:
            raise KeyboardInterrupt

    @contextmanager
    def bench(self) -> Iterator[str]:
        if self.no_bench:
            raise NoBenchError(Reason("start_failed", "the port is taken"))
        self.log.append("opened")
        try:
            yield "bench"
        finally:
            self.log.append("closed")

    def trials(self, bench: str) -> Iterator[Trial]:
        for trial in self.trials_of_visit:
            self.log.append(f"run {trial.trial} on the {bench}")
            yield trial
            if self.lost_after == trial.trial:
                raise NoGeneratorError("all load generators were lost")

    def failed(self, reason: Reason) -> Iterator[Trial]:
        self.log.append(reason.message)
        yield self.trials_of_visit[0]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "r", dumps(MADE.experiment), MADE.plan, MADE.environment)


def test_each_trial_is_kept_before_the_next_one_starts(folder: RunFolder) -> None:
    agenda = MadeUp()
    carry_out(agenda, folder)
    assert agenda.log == [
        "0 before", "opened", "run 0 on the bench", "kept 0 done",
        "run 1 on the bench", "kept 1 done", "closed",
    ]  # fmt: skip
    assert folder.trials() == MADE.trials[:2]


def test_a_visit_without_a_bench_leaves_its_failed_trials(folder: RunFolder) -> None:
    agenda = MadeUp(no_bench=True)
    assert not ended_early(agenda, folder)
    assert agenda.log == ["0 before", "the port is taken", "kept 0 done"]
    assert len(folder.trials()) == 1


def test_an_interruption_closes_the_bench_and_keeps_what_was_finished(folder: RunFolder) -> None:
    agenda = MadeUp(stop_after=0)
    assert ended_early(agenda, folder) == "interrupted"
    assert agenda.log[-2:] == ["kept 0 done", "closed"]
    assert folder.trials() == MADE.trials[:1]


def test_a_sitting_ends_before_its_next_trial_and_a_complete_run_has_none(
    folder: RunFolder,
) -> None:
    assert ended_early(MadeUp(), folder, 1e-9) == "over"
    assert folder.trials() == MADE.trials[:1]
    assert ended_early(MadeUp(trials_of_visit=MADE.trials[1:2]), folder, 1e-9) == ""


def test_without_generators_the_run_ends_and_says_how_the_rest_is_made(folder: RunFolder) -> None:
    agenda = MadeUp(lost_after=0)
    with pytest.raises(NoGeneratorError, match="all load generators were lost") as caught:
        carry_out(agenda, folder)
    assert caught.value.exit_code == 3
    assert f"tlslab run --resume {folder.path}" in caught.value.remedy
    assert agenda.log[-1] == "closed"
    assert folder.trials() == MADE.trials[:1]
