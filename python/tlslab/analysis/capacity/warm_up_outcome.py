"""The warm-up of fresh servers: its course, and whether the rate became steady."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.domain.capacity import WarmUpRules
from tlslab.domain.trial import Trial


@dataclass(frozen=True)
class WarmUp:
    """The warm-up of one server: connections/s of each window since its start, `seconds` in all.

    `warm`: the rate was steady at the end; otherwise the warm-up ended at its limit.
    """

    visit: int
    rates: tuple[float, ...]
    seconds: float
    warm: bool


def warm_ups(trials: Sequence[Trial], rules: WarmUpRules) -> list[WarmUp]:
    """The warm-ups of the servers of a cell's trials, in their order."""
    done = [
        t
        for t in trials
        if t.factors.get("stage") == "warm_up" and t.status == "done" and "warm_up" in t.runs
    ]
    visits = dict.fromkeys(visit_of(t) for t in done)
    return [_warm_up([t for t in done if visit_of(t) == v], v, rules) for v in visits]


def visit_of(trial: Trial) -> int:
    """The number of the server on which a trial was made."""
    return int(trial.factors["visit"])


def _warm_up(trials: Sequence[Trial], visit: int, rules: WarmUpRules) -> WarmUp:
    records = [trial.runs["warm_up"].record for trial in trials]
    rates = tuple(r.outcomes.completed / r.seconds for r in records if r.seconds)
    last = rates[-rules.steady :]
    mean = sum(last) / len(last) if last else 0.0
    steady = len(last) == rules.steady and mean > 0
    warm = steady and max(abs(rate - mean) for rate in last) <= rules.width * mean
    return WarmUp(visit, rates, sum(record.seconds for record in records), warm)


def all_warm(trials: Sequence[Trial], maxima: Sequence[Trial], rules: WarmUpRules) -> bool:
    """Whether each server on which a cell's maximum was measured had been found warm."""
    cold = {each.visit for each in warm_ups(trials, rules) if not each.warm}
    return cold.isdisjoint(visit_of(trial) for trial in maxima)
