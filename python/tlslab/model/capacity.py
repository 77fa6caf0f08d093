"""What an experiment of the kind `capacity` asks for, and the steps that its cells take.

A cell goes through stages: the warm-up where a server needs one, the search of the concurrency of
its maximum, trials at the maximum, an open loop at fractions of it, the remedies, the check against
a packet capture.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tlslab.model.experiment import Experiment
from tlslab.model.workload import Window

Stage = Literal["warm_up", "search", "maximum", "open_loop", "remedy", "validation"]

_OBJECTIVE = re.compile(r"(p50|p90|p95|p99|mean)\s*<\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s)")


@dataclass(frozen=True)
class SearchRules:
    """How the concurrency of the maximum is searched.

    The number of connections starts at `first` and is multiplied by `growth`, up to `most`. Changes
    of the rate below the share `step` are ignored; a noisy level is tried `repeats` times at most.
    """

    first: int
    most: int
    window: Window
    growth: float = 2.0
    step: float = 0.05
    repeats: int = 3


@dataclass(frozen=True)
class MaximumRules:
    """How often the maximum is measured: `trials` times, then as often as model.two_stage computes.

    At most `most` trials in all, until the interval is narrower than the share `width`.
    """

    trials: int
    most: int
    window: Window
    width: float = 0.05


@dataclass(frozen=True)
class OpenLoopRules:
    """Open loops at these fractions of the maximum, `trials` of each.

    The rate is int(maximum x fraction). `arrivals` is `constant` or `poisson`, `connections` the
    most that are in flight at once.
    """

    fractions: tuple[float, ...]
    trials: int
    connections: int
    window: Window
    arrivals: str = "poisson"


@dataclass(frozen=True)
class Remedies:
    """Remedies that are measured: resumption at these ratios, N requests on each connection.

    In the cells with the levels of `when`, at the concurrency of the maximum.
    """

    resume: str
    resume_ratios: tuple[float, ...]
    requests_per_connection: tuple[int, ...]
    trials: int
    window: Window
    when: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WarmUpRules:
    """Closed loops of `window` on each fresh server until it is warm; at most `most` loops.

    The server is warm once the last `steady` rates are within the share `width` of their mean.
    """

    connections: int
    most: int
    window: Window
    steady: int = 3
    width: float = 0.05


@dataclass(frozen=True)
class ValidationRules:
    """A packet capture beside an open loop at this fraction of the maximum, in cells of `when`."""

    fractions: tuple[float, ...]
    window: Window
    when: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Obsolete:
    """A cell beside those of the factors, with levels that are only run when they are allowed.

    `levels` are of the factors of any experiment; protocol, key and suite may be obsolete ones.
    """

    levels: Mapping[str, str]


@dataclass(frozen=True)
class Objective:
    """A bound on a response time: `quantile` is `p50`, `p90`, `p95`, `p99` or `mean`."""

    quantile: str
    limit_ms: float

    def __str__(self) -> str:
        return f"{self.quantile}<{self.limit_ms:g}ms"


def parse_objective(text: str) -> Objective | None:
    """The objective that a text like `p99<50ms` states; None when it states none."""
    found = _OBJECTIVE.fullmatch(text.strip())
    if found is None or float(found[2]) == 0:
        return None
    return Objective(found[1], float(found[2]) * (1000 if found[3] == "s" else 1))


@dataclass(frozen=True)
class GeneratorRules:
    """How many generators a search starts with, and how many it may take.

    The search takes more where its generators limit the rate. The rules come from the options of a
    run, never from an experiment file.
    """

    first: int = 1
    most: int = 1


@dataclass(frozen=True)
class CapacityPlan:
    """All stages of the cells of one experiment.

    `fresh_server`: each repetition of a stage has its own start of the server, so that the interval
    includes differences between starts; otherwise one start serves all stages.
    """

    search: SearchRules
    maximum: MaximumRules
    open_loop: OpenLoopRules
    warm_up: WarmUpRules | None = None
    remedies: Remedies | None = None
    validation: ValidationRules | None = None
    obsolete: Obsolete | None = None
    objective: Objective | None = None
    fresh_server: bool = True
    generators: GeneratorRules = GeneratorRules()


def plan_of(experiment: Experiment) -> CapacityPlan:
    """The settings of an experiment of this kind."""
    assert isinstance(experiment.settings, CapacityPlan)
    return experiment.settings


@dataclass(frozen=True)
class Step:
    """One run of a cell.

    Steps of the same `visit` share a started server. `repetition` counts within the stage, from 0.
    `rate` is an open loop's, in connections/s, at `fraction` of the maximum; `serves` is how the
    server lets sessions be resumed, `resume_ratio` the share of connections that do. `generators`
    make the load; None where there is one.
    """

    stage: Stage
    visit: int
    repetition: int
    connections: int
    window: Window
    rate: int | None = None
    fraction: float | None = None
    arrivals: str = "poisson"
    requests_per_connection: int | None = None
    serves: str = "none"
    resume_ratio: float | None = None
    generators: int | None = None

    @property
    def factors(self) -> dict[str, str]:
        """The step as factors of its trial, beside the levels of the cell."""
        values: dict[str, object] = {
            "stage": self.stage,
            "visit": self.visit,
            "repetition": self.repetition,
            "connections": self.connections,
            "rate": self.rate,
            "fraction": self.fraction,
            "requests_per_connection": self.requests_per_connection,
            "resume_ratio": self.resume_ratio,
            "generators": self.generators,
        }
        return {name: f"{value}" for name, value in values.items() if value is not None}
