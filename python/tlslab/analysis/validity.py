"""The usability of a trial's numbers, and the warnings for its reader, by code (words.validity)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tlslab.analysis import steadiness
from tlslab.analysis.measures import (
    Processors,
    client_busy,
    foreign_share,
    server_busy,
    server_lost,
    steal_share,
)
from tlslab.contract.record import RunRecord
from tlslab.domain.estimates import quantity
from tlslab.domain.finding import CellVerdict, Note, NoteOf
from tlslab.domain.run_faults import host_was_lost, run_faults
from tlslab.domain.run_record import STARVED, time_lost
from tlslab.domain.trial import Trial, TrialRun

# A worker that computes for all but a twentieth of its time has a queue between its waits.
SATURATED = 0.95

# A saturated server still waits a little for its peer; below this, something else was the limit.
SERVER_LOADED = 0.9

# Shares of a side's time in which it was ready and did not run: from the first on, rates are lower
# bounds, from the second on the figures say more of what took the time (the engine's
# verdict/processors.rs).
LOST_MATTERS = 0.05
LOST_SPOILS = 0.2

# The cost of interrupts on the server's processor stays below this.
FOREIGN_LIMIT = 0.1

STEAL_LIMIT = 0.01

# The largest difference between the starts of several generators that needs no note (the engine's
# merge/window.rs).
SKEW_LIMIT_S = 0.001

# With a larger share of unusable trials, a cell's other trials are suspect as well.
BAD_TRIALS_LIMIT = 0.2

FATAL_REASONS = ("server_died",)


@dataclass(frozen=True)
class TrialJudgement:
    """Faults make a trial unusable; warnings do not."""

    faults: tuple[Note, ...]
    warnings: tuple[Note, ...]
    steadiness: steadiness.Labels
    saturated: bool
    keep_alive_saturated: bool = False


def judge_trial(trial: Trial, processors: Processors) -> TrialJudgement:
    """Judges a done trial by its runs."""
    faults = [note for kind, run in trial.runs.items() for note in run_faults(kind, run.record)]
    warnings: list[Note] = []
    saturated = False
    if (run := trial.runs.get("capacity")) is not None:
        faults += starved(run, processors)
        warnings += run_warnings(run, processors)
        saturated = is_bound(run, processors)
    else:
        faults.append(Note("no_capacity_run"))
    kept_open = trial.runs.get("keep_alive")
    if kept_open is not None:
        warnings += [
            Note.on("keep_alive", note.code, note.values)
            for note in run_warnings(kept_open, processors)
        ]
        faults += starved(kept_open, processors)
    if trial.attempts > 1:
        warnings.append(Note("repeated", values={"attempts": trial.attempts}))
    kept_open_saturated = kept_open is not None and is_bound(kept_open, processors)
    return TrialJudgement(
        tuple(faults),
        tuple(warnings),
        steadiness.labels(trial.runs),
        saturated,
        kept_open_saturated,
    )


def is_bound(run: TrialRun, processors: Processors) -> bool:
    """Whether a run's rates are lower bounds.

    Either the generator had no time to spare, or one side was ready and did not run.
    """
    lost = time_lost(run.record) is not None or server_lost(run, processors) >= LOST_MATTERS
    return lost or client_busy(run) >= SATURATED


def disturbed(trial: Trial, processors: Processors) -> bool:
    """Whether one side was ready and did not run for so much of a loaded run that it matters.

    By time alone, not by what was measured, so that to measure again selects no result. A generator
    that shares processors with the server waits for the server, and would again. A trial that lost
    a host keeps its verdict.
    """
    if host_was_lost(trial):
        return False
    loaded = [run for kind, run in trial.runs.items() if kind in ("capacity", "keep_alive")]
    return any(
        (processors.apart and time_lost(run.record) is not None)
        or server_lost(run, processors) >= LOST_MATTERS
        for run in loaded
    )


def starved(run: TrialRun, processors: Processors) -> Iterable[Note]:
    """The faults of a run in which one side was kept from its processors for much of the time.

    A generator that shares processors with the server waits for the server: no fault, but a bound.
    """
    generator, server = time_lost(run.record), server_lost(run, processors)
    if generator is not None and generator.code == STARVED and processors.apart:
        yield Note(generator.code, values={"message": generator.message})
    if server >= LOST_SPOILS:
        yield Note("server_starved", values={"share": server})


def _delayed(run: TrialRun, processors: Processors) -> Iterable[Note]:
    """The warnings for a run in which one side was kept from its processors, but not for long."""
    faults = {fault.code for fault in starved(run, processors)}
    if (lost := time_lost(run.record)) is not None and lost.code not in faults:
        yield Note(lost.code, values={"message": lost.message})
    share = server_lost(run, processors)
    if share >= LOST_MATTERS and "server_starved" not in faults:
        yield Note("server_delayed", values={"share": share})


def _of_record(record: RunRecord) -> Iterable[Note]:
    """What the engine recorded beside the figures and a reader has to know."""
    if waited := record.slow_connects.count:
        values = {"count": waited, "overflows": record.slow_connects.listen_overflows}
        yield Note("backlog", values={**values})
    if record.kinds.refill_connections:
        yield Note("refill")
    if record.client_fallback:
        yield Note("fallback", values={"why": record.client_fallback})
    # More than the generators' clocks explain.
    if record.common is not None and record.common.start_skew_s > SKEW_LIMIT_S:
        yield Note("start_skew", values={"seconds": record.common.start_skew_s})


def run_warnings(run: TrialRun, processors: Processors) -> Iterable[Note]:
    """The warnings for a reader of a run that loads the server."""
    client, server = client_busy(run), server_busy(run, processors)
    foreign, steal = foreign_share(run, processors), steal_share(run)
    if client >= SATURATED:
        yield Note("client_saturated", values={"client": client})
    elif foreign > FOREIGN_LIMIT:
        yield Note("disturbed", values={"share": foreign})
    elif server is not None and server < SERVER_LOADED:
        yield Note("neither_saturated", values={"server": server, "client": client})
    yield from _delayed(run, processors)
    yield from _of_record(run.record)
    if steal > STEAL_LIMIT:
        yield Note("steal", values={"share": steal})


def judge_cell(
    trials: Sequence[Trial], judgements: Sequence[TrialJudgement | None], planned: int
) -> tuple[CellVerdict, tuple[Note, ...]]:
    """The verdict on a cell, and the reasons; a judgement is None if the trial was not done."""
    done = [judgement for judgement in judgements if judgement is not None]
    refused = [trial for trial in trials if trial.status == "unsupported"]
    if refused and not done:
        first = refused[0].reason
        values = {} if first is None else {"message": first.message}
        return "unsupported", (Note("unsupported", values=values),)
    # A trial that was done shows that the server supports the cell: a refusal is a failure then.
    failed = [trial for trial in trials if trial.status != "done"]
    notes = _grouped(map(_failure, failed), len(trials))
    if not trials:
        return "failed", (Note("not_run", values={"planned": planned}),)
    if not done:
        return "failed", notes
    if len(trials) < planned:
        notes += (Note("incomplete", values={"run": len(trials), "planned": planned}),)
    notes += _grouped((note for each in done for note in each.faults), len(trials))
    notes += steadiness.notes([each.steadiness for each in done])
    notes += _grouped((note for each in done for note in each.warnings), len(trials))
    if _unusable(trials, failed, done):
        return "invalid", notes
    return ("at_least" if any(each.saturated for each in done) else "valid"), notes


def lower_bounds(
    judgements: Sequence[TrialJudgement | None], names: Iterable[str]
) -> tuple[str, ...]:
    """The estimates that are lower bounds because the generator was the limit."""
    done = [judgement for judgement in judgements if judgement is not None]
    new = any(judgement.saturated for judgement in done)
    kept = any(judgement.keep_alive_saturated for judgement in done)
    return tuple(
        name
        for name in names
        if (row := quantity(name)).is_bounded and (kept if row.keep_alive else new)
    )


def unsaturated(
    judgements: Sequence[TrialJudgement | None], names: Iterable[str]
) -> tuple[str, ...]:
    """The rates that, in most trials, neither the server nor the generator limited.

    Neither was busy, or other programs used a part of the server's processor.
    """
    done = [judgement for judgement in judgements if judgement is not None]

    def mostly(of: NoteOf) -> bool:
        notes = [[note.bare for note in each.warnings if note.of == of] for each in done]
        found = sum("neither_saturated" in each or "disturbed" in each for each in notes)
        return 2 * found > len(done)

    new, kept = mostly(""), mostly("keep_alive")
    return tuple(
        name
        for name in names
        if (row := quantity(name)).is_bounded and (kept if row.keep_alive else new)
    )


def _unusable(
    trials: Sequence[Trial], failed: Sequence[Trial], done: Sequence[TrialJudgement]
) -> bool:
    bad = len(failed) + sum(1 for judgement in done if judgement.faults)
    unsteady = sum(1 for judgement in done if steadiness.unsteady(judgement.steadiness))
    fatal = any(_class(trial) in FATAL_REASONS for trial in failed)
    too_many = bad == len(trials) or bad > BAD_TRIALS_LIMIT * len(trials)
    return fatal or too_many or 2 * unsteady > len(done)


def _grouped(notes: Iterable[Note], trials: int) -> tuple[Note, ...]:
    """One note per code: the first, with the number of trials to which it applies."""
    first: dict[str, Note] = {}
    counts: Counter[str] = Counter()
    for note in notes:
        first.setdefault(note.code, note)
        counts[note.code] += 1
    return tuple(note.in_trials(min(counts[code], trials), trials) for code, note in first.items())


def _class(trial: Trial) -> str:
    return trial.reason.class_ if trial.reason else "failed"


def _failure(trial: Trial) -> Note:
    message = trial.reason.message if trial.reason else "the trial failed"
    return Note.on("trial", _class(trial), {"message": message})
