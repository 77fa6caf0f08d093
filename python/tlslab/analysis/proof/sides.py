"""The two sides of each measure of a proof: the cells of both configurations. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.analysis.compare import Measured, paired_logs
from tlslab.analysis.judged import JudgedCell, judged_cells
from tlslab.analysis.stats.estimate import Array
from tlslab.analysis.stats.latency import times
from tlslab.domain.configuration import BASELINE, CANDIDATE
from tlslab.domain.estimates import (
    CONNECTION_TIMES,
    CONNECTIONS,
    HANDSHAKE,
    HANDSHAKE_P99,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
    quantity,
)
from tlslab.domain.finding import CellVerdict
from tlslab.domain.proof_settings import NEW, RETURNING, Measure
from tlslab.domain.run import RunContents
from tlslab.domain.trial import Trial

# The rate and the cost of each measure.
RATES: Mapping[Measure, tuple[str, str]] = {
    "connections": (CONNECTIONS, SERVER_COST),
    "new": (CONNECTIONS, SERVER_COST),
    "returning": (CONNECTIONS, SERVER_COST),
    "requests": (OPEN_REQUESTS, OPEN_SERVER_COST),
}

_P99 = 0.99

# The worst verdict first: a mix has the worse of its parts' verdicts.
_GRAVITY: tuple[CellVerdict, ...] = ("failed", "invalid", "unsupported", "at_least", "valid")


@dataclass(frozen=True)
class Sides:
    """The cells of both configurations for one measure."""

    baseline: Measured
    candidate: Measured

    @property
    def both(self) -> tuple[Measured, Measured]:
        """Baseline and candidate."""
        return self.baseline, self.candidate

    @property
    def usable(self) -> bool:
        """Whether both sides have a usable result."""
        return all(side.summary.verdict in ("valid", "at_least") for side in self.both)

    def better(self, estimate: str) -> Array:
        """The logarithms of how many times as good the candidate is, in each block with both."""
        logs = paired_logs(
            self.candidate.values.get(estimate, {}), self.baseline.values.get(estimate, {})
        )
        return logs if quantity(estimate).more_is_better else -logs


def has_one_client(contents: RunContents) -> bool:
    """Whether the same client made the new connections of both configurations.

    The library client and the minimal client are different clients, and so are two libraries.
    """
    used: dict[str, set[tuple[str, bool]]] = {}
    for trial in contents.trials:
        run = trial.runs.get("capacity")
        if run is not None and trial.factors["clients"] == NEW:
            made_by = run.record.backend, run.record.minimal_client > 0
            used.setdefault(trial.factors["configuration"], set()).add(made_by)
    return len(set().union(*used.values())) < 2


def measured_cells(contents: RunContents) -> list[Measured]:
    """The cells with their values by block, including the p99 of the handshake."""
    begun = 1 + max((trial.block for trial in contents.trials), default=-1)
    anytime = contents.experiment.stopping is not None
    return [_measured(each, begun, anytime) for each in judged_cells(contents)]


def _measured(judged: JudgedCell, begun: int, anytime: bool) -> Measured:
    found = judged.measured(begun, anytime)
    p99 = {trial.block: value for trial in judged.usable if (value := _p99(trial)) is not None}
    return replace(found, values={**found.values, HANDSHAKE_P99: p99} if p99 else found.values)


def _p99(trial: Trial) -> float | None:
    found = times([trial], CONNECTION_TIMES[HANDSHAKE])
    return found[0].quantile(_P99) if found else None


def sides_of(cells: Sequence[Measured], returning: float) -> dict[Measure, Sides]:
    """The sides of each measure; `returning` is the share of connections of returning clients.

    If a configuration resumes nothing, its returning clients are as new ones. If neither resumes,
    the measure is absent.
    """
    by = {
        (cell.summary.factors["configuration"], cell.summary.factors["clients"]): cell
        for cell in cells
    }
    new = [by.get((name, NEW)) for name in (BASELINE, CANDIDATE)]
    if new[0] is None or new[1] is None:
        return {}
    old = [by.get((name, RETURNING)) or by[name, NEW] for name in (BASELINE, CANDIDATE)]
    found: dict[Measure, Sides] = {
        "connections": Sides(mixed(new[0], old[0], returning), mixed(new[1], old[1], returning)),
        "new": Sides(new[0], new[1]),
    }
    if old != new:
        found["returning"] = Sides(old[0], old[1])
    return {**found, "requests": found["new"]}


def mixed(new: Measured, returning: Measured, share: float) -> Measured:
    """A mix of connections in which the given share belongs to returning clients.

    Costs are weighted by the shares; for rates, the times of a connection are.
    """
    one, other = new.summary, returning.summary
    values = {
        CONNECTIONS: _weighted(new, returning, share, CONNECTIONS, -1),
        SERVER_COST: _weighted(new, returning, share, SERVER_COST, 1),
    }
    worst = min(one.verdict, other.verdict, key=_GRAVITY.index)
    summary = replace(
        one,
        verdict=worst,
        lower_bounds=tuple({*one.lower_bounds, *other.lower_bounds}),
        unsaturated=tuple({*one.unsaturated, *other.unsaturated}),
    )
    return Measured(summary, {name: by for name, by in values.items() if by}, new.anytime)


def _weighted(
    new: Measured, returning: Measured, share: float, estimate: str, power: int
) -> dict[int, float]:
    """The weighted power mean of the values, by block, over the blocks that have both."""
    first, second = new.values.get(estimate, {}), returning.values.get(estimate, {})
    return {
        block: ((1 - share) * value**power + share * second[block] ** power) ** (1 / power)
        for block, value in first.items()
        if value > 0 and second.get(block, 0) > 0
    }
