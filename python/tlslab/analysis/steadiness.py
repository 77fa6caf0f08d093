"""The steadiness of a trial's runs, and a cell's notes on runs that were not steady.

Each run whose values are used is judged by itself: the one that loads the server, the one of the
client's cost, the one with connections kept open.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from tlslab.analysis.stats.steady_state import Label, classify, rates
from tlslab.contract.record import RunRecord
from tlslab.domain.finding import Note
from tlslab.domain.run_record import total_us
from tlslab.domain.trial import RunKind, TrialRun

# A trial with such a run does not count for a rank.
NOT_STEADY: tuple[Label, ...] = ("slowdown", "unstable")

_NOTED: tuple[Label, ...] = (*NOT_STEADY, "warm_up")

# The run whose notes do not name it.
_FIRST: RunKind = "capacity"

Labels = Mapping[RunKind, Label]


def labels(runs: Mapping[RunKind, TrialRun]) -> dict[RunKind, Label]:
    """The label of each run of a trial."""
    return {kind: classify(_series(kind, run.record)) for kind, run in runs.items()}


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
