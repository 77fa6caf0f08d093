"""The rule by which a fresh server counts as warm. Pure."""

from collections.abc import Sequence

from tlslab.domain.capacity import WarmUpRules
from tlslab.domain.run_faults import host_was_lost
from tlslab.domain.trial import Trial


def warmed(rules: WarmUpRules, here: Sequence[Trial]) -> bool:
    """Whether the server with these trials is warm, or has had the largest warm-up allowed.

    A server with any other trial was warm before that trial.
    """
    runs = [trial for trial in here if trial.factors.get("stage") == "warm_up"]
    if len(runs) < len(here) or len(runs) >= rules.most:
        return True
    last = [_rate(trial) for trial in runs[-rules.steady :]]
    if len(last) < rules.steady or min(last) <= 0:
        return False
    mean = sum(last) / len(last)
    return max(abs(rate - mean) for rate in last) <= rules.width * mean


def _rate(trial: Trial) -> float:
    run = trial.runs.get("warm_up")
    if run is None or run.record.seconds <= 0 or host_was_lost(trial):
        return 0.0
    return run.record.outcomes.completed / run.record.seconds
