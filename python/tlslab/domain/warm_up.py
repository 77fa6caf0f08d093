"""The warm-up of fresh servers: the rule by which a rate is steady, and what it says of trials."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.domain.capacity import WarmUpRules
from tlslab.domain.run_faults import host_was_lost
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


def is_steady(rates: Sequence[float], rules: WarmUpRules) -> bool:
    """Whether the last rates are within a share of their mean."""
    last = rates[-rules.steady :]
    if len(last) < rules.steady or min(last) <= 0:
        return False
    mean = sum(last) / len(last)
    return max(abs(rate - mean) for rate in last) <= rules.width * mean


def warmed(rules: WarmUpRules, here: Sequence[Trial]) -> bool:
    """Whether the server with these trials is warm, or has had the largest warm-up allowed.

    A server with any other trial was warm before that trial. A window without a result, or with a
    lost generator, has the rate 0.
    """
    runs = [trial for trial in here if trial.factors.get("stage") == "warm_up"]
    if len(runs) < len(here) or len(runs) >= rules.most:
        return True
    return is_steady([0.0 if host_was_lost(trial) else _rate(trial) for trial in runs], rules)


def _rate(trial: Trial) -> float:
    run = trial.runs.get("warm_up")
    if run is None or run.record.seconds <= 0:
        return 0.0
    return run.record.outcomes.completed / run.record.seconds


def warm_ups(trials: Sequence[Trial], rules: WarmUpRules) -> list[WarmUp]:
    """The warm-ups of the servers of a cell's trials, in their order."""
    visits: dict[int, list[Trial]] = {}
    for trial in trials:
        if trial.factors.get("stage") == "warm_up" and trial.status == "done" and trial.runs:
            visits.setdefault(_visit(trial), []).append(trial)
    return [_warm_up(visit, windows, rules) for visit, windows in visits.items()]


def _visit(trial: Trial) -> int:
    """The number of the server on which a trial was made."""
    return int(trial.factors["visit"])


def _warm_up(visit: int, trials: Sequence[Trial], rules: WarmUpRules) -> WarmUp:
    seconds = [trial.runs["warm_up"].record.seconds for trial in trials]
    rates = tuple(_rate(t) for t, length in zip(trials, seconds, strict=True) if length)
    return WarmUp(visit, rates, sum(seconds), is_steady(rates, rules))


def all_warm(trials: Sequence[Trial], maxima: Sequence[Trial], rules: WarmUpRules) -> bool:
    """Whether each server on which a cell's maximum was measured had been found warm."""
    cold = {each.visit for each in warm_ups(trials, rules) if not each.warm}
    return cold.isdisjoint(_visit(trial) for trial in maxima)
