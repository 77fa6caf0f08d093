"""The load generators of a run's trials, if there were several. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tlslab.contract.record import HostClock, HostPart
from tlslab.domain.finding import HostUse
from tlslab.domain.trial import Trial


def hosts_of(trials: Sequence[Trial]) -> tuple[HostUse, ...]:
    """All hosts in the order of their appearance; none if one generator made the load."""
    parts: dict[str, list[HostPart]] = {}
    for trial in trials:
        for run in trial.runs.values():
            for host in run.record.hosts:
                parts.setdefault(host.name, []).append(host)
    return tuple(_use(name, found) for name, found in parts.items())


def _use(name: str, parts: Sequence[HostPart]) -> HostUse:
    there = [part for part in parts if part.lost is None]
    gone = [part.lost for part in parts if part.lost is not None]
    found = [part.found for part in parts if part.found is not None]
    clocks = [each.clock for each in found if each.clock is not None]
    workers = {worker.processor for part in there for worker in part.workers}
    environments = [part.environment for part in there]
    return HostUse(
        name=name,
        processor=str(environments[0].get("processor", "")) if environments else "",
        processors=tuple(sorted(number for number in workers if number is not None)),
        runs=len(there),
        lost=len(gone),
        reason=gone[0].reason if gone else "",
        handshakes_per_s=_first(each.handshakes_per_s for each in found),
        clock_error_s=_most(clock.uncertainty_s for clock in clocks),
        clock_moved_s=_most(clock.moved_s for clock in clocks),
        drift_ppm=_drift(clocks),
        objections=dict(_objections(there)),
        start_skew_s=_most(part.start_skew_s for part in there if part.start_skew_s is not None),
    )


def _objections(parts: Sequence[HostPart]) -> Counter[str]:
    """The number of runs for each verdict that objects to the result."""
    return Counter(
        verdict.code for part in parts for verdict in part.verdicts if verdict.code != "valid"
    )


def _first(values: Iterable[float | None]) -> float | None:
    return next((value for value in values if value is not None), None)


def _most(values: Iterable[float]) -> float | None:
    return max(values, default=None)


def _drift(clocks: Sequence[HostClock]) -> float | None:
    """The largest drift that exceeds its own reading error; 0 if none does."""
    known = [clock for clock in clocks if abs(clock.drift_ppm) > clock.drift_uncertainty_ppm]
    if not clocks:
        return None
    return max((clock.drift_ppm for clock in known), key=abs, default=0.0)
