"""The gains from resumption and from more requests per connection, relative to neither."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tlslab.analysis.compare import paired_logs
from tlslab.analysis.measures import client_busy
from tlslab.analysis.stats.estimate import Array, estimate, mean_interval, p_value
from tlslab.analysis.validity import SATURATED
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import MICROSECONDS, PER_SECOND, RATIO
from tlslab.domain.run_faults import usable
from tlslab.domain.run_record import time_lost
from tlslab.domain.trial import Trial, TrialRun

# `unknown`: both sides are lower bounds.
RatioBound = Literal["", "at least", "at most", "unknown"]


@dataclass(frozen=True)
class Remedy:
    """One setting: rates, the server's cost of a request, and the ratio to the setting without
    remedy.

    `p`: the p-value of the ratio's difference from 1. `bound`: the generator was the limit, so that
    the rates are lower bounds. `of_ratio`: the resulting kind of bound of the ratio to the setting
    `base`. `over_plain`, `of_plain`: the same of resumption, to one request per connection on a
    server that gives no tickets.
    """

    name: str
    connections_per_s: Estimate
    requests_per_s: Estimate
    cost_us: Estimate | None
    ratio: Estimate | None
    p: float | None
    bound: bool
    of_ratio: RatioBound = ""
    base: str = ""
    over_plain: Estimate | None = None
    of_plain: RatioBound = ""


_Runs = dict[int, TrialRun]


def remedies(trials: Iterable[Trial]) -> tuple[Remedy, ...]:
    """All settings of a cell; of each kind, the setting without a remedy comes first.

    `trials`: the done trials of the stage.
    """
    runs: dict[tuple[str, float], dict[int, TrialRun]] = {}
    for trial in trials:
        run = trial.runs.get("remedy")
        if run is None or not usable(trial, "remedy"):
            continue
        setting = _setting(trial.factors)
        runs.setdefault(setting, {})[int(trial.factors["repetition"])] = run
    settings = []
    for sort, level in sorted(runs):
        base = min(other for kind, other in runs if kind == sort)
        remedy = _remedy(sort, level, runs[sort, level])
        if level != base:
            remedy = _compared(remedy, runs[sort, level], runs[sort, base], _name(sort, base))
        plain = runs.get(("requests", 1.0))
        if sort == "resumption" and plain is not None:
            logs = paired_logs(_rates(runs[sort, level]), _rates(plain))
            of_plain = bound_of(remedy.bound, _limited(plain))
            remedy = replace(remedy, over_plain=paired_ratio(logs), of_plain=of_plain)
        settings.append(remedy)
    return tuple(settings)


def _setting(factors: Mapping[str, str]) -> tuple[str, float]:
    if "resume_ratio" in factors:
        return "resumption", float(factors["resume_ratio"])
    return "requests", float(factors["requests_per_connection"])


def _remedy(sort: str, level: float, runs: _Runs) -> Remedy:
    costs = [cost for run in runs.values() if (cost := _cost(run)) is not None]
    return Remedy(
        name=_name(sort, level),
        connections_per_s=estimate([_connections(run) for run in runs.values()], PER_SECOND),
        requests_per_s=estimate([_requests(run) for run in runs.values()], PER_SECOND),
        cost_us=estimate(costs, MICROSECONDS) if costs else None,
        ratio=None,
        p=None,
        bound=_limited(runs),
    )


def _compared(remedy: Remedy, runs: _Runs, without: _Runs, base: str) -> Remedy:
    """The remedy with its ratio to the setting without."""
    of_ratio = bound_of(remedy.bound, _limited(without))
    logs = paired_logs(_rates(runs), _rates(without))
    p = p_value(logs) if len(logs) else None
    return replace(remedy, ratio=paired_ratio(logs), p=p, of_ratio=of_ratio, base=base)


def paired_ratio(logs: Array) -> Estimate | None:
    """The ratio of two sides by its logarithms in the repetitions that have both; None if none."""
    if not len(logs):
        return None
    centre, interval, method = mean_interval(logs, "log ratios")
    low, high = (None, None) if interval is None else (math.exp(interval[0]), math.exp(interval[1]))
    return Estimate(
        math.exp(centre), low, high, len(logs), RATIO, f"paired by repetition; {method}"
    )


def bound_of(above: bool, below: bool) -> RatioBound:
    """What a ratio is if what stands `above` or `below` the line is a lower bound."""
    if above:
        return "unknown" if below else "at least"
    return "at most" if below else ""


def _limited(runs: _Runs) -> bool:
    """Whether the generator was the limit in any of the runs."""
    return any(client_busy(run) >= SATURATED or time_lost(run.record) for run in runs.values())


def _name(sort: str, level: float) -> str:
    if sort == "resumption":
        return f"{level * 100:g} % of connections resumed"
    return f"{level:g} requests per connection" if level != 1 else "1 request per connection"


def _connections(run: TrialRun) -> float:
    return run.record.outcomes.completed / run.record.seconds


def _rates(runs: _Runs) -> dict[int, float]:
    return {number: _requests(run) for number, run in runs.items()}


def _requests(run: TrialRun) -> float:
    return run.record.requests / run.record.seconds


def _cost(run: TrialRun) -> float | None:
    if run.server is None or run.server.seconds <= 0 or run.record.requests == 0:
        return None
    return (run.server.user_us + run.server.system_us) / run.server.seconds / _requests(run)
