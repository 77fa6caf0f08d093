"""A run in several sittings: how each ends, on which machines its blocks are, the report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from factories.folder import written
from factories.run import made_run
from tlslab.domain.errors import StoreError, UsageError
from tlslab.domain.run import BOOT, RunContents, Sitting, TargetInfo
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import load
from tlslab.lab import opening
from tlslab.lab.deployments import Prepared, Servers
from tlslab.lab.engine import Engine
from tlslab.lab.matrix.agenda import BlocksAgenda
from tlslab.lab.request import Request
from tlslab.lab.results import summary_of
from tlslab.lab.serving import Benches
from tlslab.lab.sittings import SittingLimit, SittingOverError
from tlslab.lab.specs import Aim
from tlslab.lab.store import RunFolder
from tlslab.lab.trial import run_trial

MADE = made_run(quick=True)
CELLS = len(MADE.plan.cells)
HERE: Mapping[str, Any] = {**MADE.environment.machine, BOOT: "here"}


def sitting(number: int, boot: str = "here", **facts: Any) -> Sitting:
    machine = {**HERE, BOOT: boot, **facts}
    return Sitting(number, "2026-03-15T09:00:00+00:00", "0.1.0", ("tlslab",), machine)


@dataclass
class Made:
    """An agenda's trials, made one after the other without a server."""

    folder: RunFolder
    agenda: BlocksAgenda
    made: list[int] = field(default_factory=list)

    def go_on(self, most: int = 1000) -> None:
        """Makes N trials of those that are missing."""
        for visit in self.agenda.visits(self.folder.trials()):
            for planned in visit._todo:  # type: ignore[attr-defined]
                if len(self.made) == most:
                    return
                trial = next(t for t in MADE.trials if t.trial == planned.trial)
                self.folder.append(trial)
                self.agenda.kept(trial)
                self.made.append(trial.trial)


def resumed(path: Path, trials: Iterable[Trial], boot: str = "here") -> Made:
    """A run that has these trials, on the machine `there`, and now goes on."""
    where = replace(MADE.environment, machine={**MADE.environment.machine, BOOT: "there"})
    written(path, replace(MADE, environment=where, trials=tuple(trials)))
    return again(path, 1, boot)


def again(path: Path, number: int, boot: str) -> Made:
    folder = RunFolder.resume(path)
    folder.sit_down(sitting(number, boot))
    info = TargetInfo("fake", True, "fake", "none", (), "127.0.0.1", "/")
    prepared = Prepared(info, Aim("https://unset/"), lambda: pytest.fail("no server is started"))
    every = {cell.deployment: prepared for cell in MADE.plan.cells if cell.deployment}
    servers = Servers(MADE.experiment, every, ())
    benches = Benches(Engine("unused"), servers)
    agenda = BlocksAgenda(MADE.plan, benches, lambda event: None, run_trial, folder.environment())
    return Made(folder, agenda)


def numbers(path: Path) -> list[int]:
    return sorted(trial.trial for trial in RunFolder.open(path).trials())


def test_a_block_that_is_not_whole_is_begun_again_on_another_machine(tmp_path: Path) -> None:
    run = resumed(tmp_path, MADE.trials[: CELLS + 2])
    run.go_on(CELLS)
    assert sorted(run.made) == list(range(CELLS, 2 * CELLS))
    assert numbers(tmp_path) == list(range(2 * CELLS))
    assert {t.sitting for t in RunFolder.open(tmp_path).trials() if t.block == 1} == {1}


def test_a_block_goes_on_where_the_machine_still_runs(tmp_path: Path) -> None:
    run = resumed(tmp_path, MADE.trials[: CELLS + 2], "there")
    run.go_on(CELLS - 2)
    assert sorted(run.made) == list(range(CELLS + 2, 2 * CELLS))


def test_nothing_is_added_to_an_earlier_block_of_another_machine(tmp_path: Path) -> None:
    """A trial of the first block is missing, as after the death of its server."""
    run = resumed(tmp_path, [t for t in MADE.trials[: 2 * CELLS] if t.trial != CELLS - 1])
    run.go_on()
    assert min(run.made) == 2 * CELLS
    assert numbers(tmp_path) == [n for n in range(len(MADE.trials)) if n != CELLS - 1]


def test_a_whole_block_with_a_cell_that_cannot_be_made_stays(tmp_path: Path) -> None:
    gone = MADE.plan.cells[0].key
    refused = next(t for t in MADE.trials if t.cell == gone)
    reason = Reason("alert_handshake_failure", "no")
    first = replace(refused, status="unsupported", reason=reason, runs={})
    rest = [t for t in MADE.trials[: 2 * CELLS] if t.cell != gone]
    run = resumed(tmp_path, sorted([first, *rest], key=lambda t: t.trial))
    run.go_on()
    assert min(run.made) == 2 * CELLS


def test_a_complete_run_stays_as_it_is(tmp_path: Path) -> None:
    run = resumed(tmp_path, MADE.trials)
    run.go_on()
    assert run.made == []
    assert not (tmp_path / "sittings.jsonl").exists()


def test_trials_of_a_sitting_that_is_not_on_record_are_a_damage(tmp_path: Path) -> None:
    run = resumed(tmp_path, MADE.trials[:CELLS])
    run.go_on(1)
    (tmp_path / "sittings.jsonl").unlink()
    with pytest.raises(StoreError, match="no line for sitting 1"):
        RunFolder.open(tmp_path).trials()


@pytest.mark.parametrize(
    ("seconds", "made"),
    [
        (3.5, 3),
        # A trial is made in any case, and a block that was begun first goes on.
        (0.1, 1),
        (CELLS - 1, CELLS - 1),
        # After a whole block, no other is begun that would not end in time.
        (CELLS + 1, CELLS),
        (2 * CELLS, 2 * CELLS),
        (None, len(MADE.trials)),
    ],
)
def test_no_trial_is_begun_that_would_end_after_the_sitting(
    seconds: float | None, made: int
) -> None:
    clock = [0.0]
    limit = SittingLimit(seconds, lambda: clock[0])
    done = 0
    for trial in MADE.trials:
        try:
            limit.before(trial.block)
        except SittingOverError:
            break
        clock[0] += 1
        limit.ended(trial)
        done += 1
    assert done == made


def test_loads_that_follow_from_what_was_measured_stay_on_one_kind_of_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = replace(MADE, plan=replace(MADE.plan, trials=()), trials=())
    folder = RunFolder.resume(written(tmp_path / "r", bare))
    request = Request(load("groups"), ("nginx",), ("tlslab",))
    monkeypatch.setattr(opening, "machine", lambda: {**HERE, "processor": "another"})
    with pytest.raises(UsageError, match="was begun on"):
        opening.sitting(folder, request)
    monkeypatch.setattr(opening, "machine", lambda: HERE)
    assert opening.sitting(folder, request).number == 1


def in_two_sittings() -> RunContents:
    """The run of ten blocks, the second half on another machine."""
    made = made_run()
    half = made.plan.blocks // 2
    where = replace(made.environment, later=(sitting(1),))
    trials = (replace(trial, sitting=int(trial.block >= half)) for trial in made.trials)
    return replace(made, environment=where, trials=tuple(trials))


def test_the_report_says_whether_the_machines_agree() -> None:
    found = {each.code: each for each in summary_of(in_two_sittings()).findings}["machines"]
    assert (found.values["sittings"], found.values["machines"], found.values["kinds"]) == (2, 2, 1)
    assert found.values["compared"] > 0
    # Equal machines: some 5 % of many ratios, which are not independent.
    assert found.values["disagree"] <= 0.25 * found.values["compared"]
    assert "2 sittings on 2 machines of one kind" in found.text
    assert "machines" not in {each.code for each in summary_of(made_run()).findings}


def test_limits_are_those_of_the_first_kind_of_machine() -> None:
    where = replace(made_run().environment, later=(sitting(1), sitting(2, processor="another")))
    assert where.primitives_in(1) == where.primitives
    assert where.primitives_in(2) is None
