"""The steadiness of a trial's runs, and a cell's notes on runs that were not steady.

Each run whose values are used is judged by itself: the one that loads the server, the one of the
client's cost, the one with connections kept open.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean, pstdev

from tlslab.analysis.stats.steady_state import Label, classify, rates
from tlslab.contract.record import RunRecord
from tlslab.domain.finding import Note
from tlslab.domain.run_record import total_us
from tlslab.domain.trial import RunKind, TrialRun

# A trial with such a run does not count for a rank.
NOT_STEADY: tuple[Label, ...] = ("slowdown", "unstable")

_NOTED: tuple[Label, ...] = (*NOT_STEADY, "warm_up")

# The standard deviation of a rate's slices over their mean: connections that are not in step do not
# reach it, however disturbed, unless the server stops for a fifth of the time.
IN_STEP = 0.5

# The run whose notes do not name it.
_FIRST: RunKind = "capacity"

Labels = Mapping[RunKind, Label]


def labels(runs: Mapping[RunKind, TrialRun]) -> dict[RunKind, Label]:
    """The label of each run of a trial."""
    return {kind: _label(kind, run.record) for kind, run in runs.items()}


def _label(kind: RunKind, record: RunRecord) -> Label:
    """The label of a run; a closed loop whose connections go in step is judged by their rounds.

    A server that works through all connections in flight before it goes on with the first one
    completes them together, and none between. Two rounds are in each slice, so that a round more or
    less at its ends is no change. A run of fewer than 20 rounds keeps its label, since it may as
    well have stopped; but the client's cost of a connection is the same in any order of them.
    """
    series = _series(kind, record)
    found = classify(series)
    if kind == "keep_alive" or found not in NOT_STEADY or pstdev(series) < IN_STEP * mean(series):
        return found
    if record.spec.get("load", {}).get("rate") is not None:
        return found
    rounds = classify(rates(record.intervals, 2 * record.spec["connections"]))
    return found if rounds == "too_short" and kind != "client_cost" else rounds


def _series(kind: RunKind, record: RunRecord) -> list[float]:
    """Connections per second in each slice.

    Connections that are kept open end in no slice, and slices do not count requests. The
    generator's processor time takes their place: each request needs the same.
    """
    if kind != "keep_alive":
        return rates(record.intervals)
    whole = max((each.seconds for each in record.intervals), default=0.0) / 2
    return [total_us(each.cpu) / each.seconds for each in record.intervals if each.seconds > whole]


def unsteady(found: Labels) -> bool:
    """Whether any run of a trial slowed down or had no level."""
    return any(label in NOT_STEADY for label in found.values())


def notes(trials: Sequence[Labels]) -> tuple[Note, ...]:
    """The number of trials that were not steady, by run and label.

    Too short a warm-up counts as well.
    """
    counts = Counter((kind, label) for found in trials for kind, label in found.items())
    kinds = list(dict.fromkeys(kind for found in trials for kind in found))
    return tuple(
        _note(kind, label, count, len(trials))
        for kind in kinds
        for label in _NOTED
        if (count := counts[kind, label])
    )


def _note(kind: RunKind, label: Label, count: int, trials: int) -> Note:
    return Note.on("" if kind == _FIRST else kind, label).in_trials(count, trials)
