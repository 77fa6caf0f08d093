"""The settings of a capacity experiment, and the steps of its cells.

A cell goes through stages: the warm-up if the server needs one, the search for the concurrency of
the maximum, trials at the maximum, an open loop at fractions of it, the remedies, validation
against a packet capture, the search for the highest load within the objective.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tlslab.domain.experiment import Experiment
from tlslab.domain.workload import Window

Stage = Literal["warm_up", "search", "maximum", "open_loop", "remedy", "validation", "within"]

# The runs a step above a load that confirm that it meets the objective.
CONFIRMING = 2

_OBJECTIVE = re.compile(r"(p50|p90|p95|p99|mean)\s*<\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s)")


@dataclass(frozen=True)
class SearchRules:
    """Rules of the search for the concurrency of the maximum.

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

    `most` limits the total number of trials; the goal is an interval narrower than the share
    `width`.
    """

    trials: int
    most: int
    window: Window
    width: float = 0.05


@dataclass(frozen=True)
class OpenLoopRules:
    """Open loops at fractions of the maximum, with `trials` of each.

    The rate is int(maximum x fraction). `arrivals` is `constant` or `poisson`; `connections` is the
    limit of connections in flight. `patience_ms`: how long a user waits for an answer; None for
    ever. `retries`: how often a user comes back.
    """

    fractions: tuple[float, ...]
    trials: int
    connections: int
    window: Window
    arrivals: str = "poisson"
    patience_ms: int | None = None
    retries: int = 0

    @property
    def is_steady(self) -> bool:
        """Whether the warm-up is as long as a user may wait: before, fewer give up than later."""
        return self.window.warmup_ms >= (self.patience_ms or 0) * (1 + self.retries)


@dataclass(frozen=True)
class Remedies:
    """The remedies to measure: resumption at these ratios, N requests on each connection.

    They are measured in cells with the levels of `when`, at the concurrency of the maximum.
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
    """Validation: a packet capture beside an open loop at this fraction of the maximum.

    It applies to cells with the levels of `when`. `delay_ms`: the round-trip time of the path to
    the server, so that times are long enough to judge; 0: loopback itself.
    """

    fractions: tuple[float, ...]
    window: Window
    when: Mapping[str, str] = field(default_factory=dict)
    delay_ms: int = 0


@dataclass(frozen=True)
class WithinRules:
    """The search for the highest load that meets the objective (model.loads): open loops.

    At most `most` runs; each has `window` at least, and a longer one if the objective or the rate
    needs it.
    """

    most: int
    window: Window


@dataclass(frozen=True)
class Obsolete:
    """An additional cell with obsolete levels, run only if the user allows them.

    `levels` may belong to the factors of any experiment; protocol, key and suite may be obsolete.
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
    """The objective in a text such as `p99<50ms`; None if the text is not an objective."""
    found = _OBJECTIVE.fullmatch(text.strip())
    if found is None or float(found[2]) == 0:
        return None
    return Objective(found[1], float(found[2]) * (1000 if found[3] == "s" else 1))


@dataclass(frozen=True)
class GeneratorRules:
    """The number of generators: `first` at the start of a search, `most` as the limit.

    The search adds generators when they limit the rate. The rules come from the options of a run,
    never from an experiment file.
    """

    first: int = 1
    most: int = 1


@dataclass(frozen=True)
class CapacityPlan:
    """All stages of the cells of one experiment.

    `fresh_server`: each repetition of a stage starts the server anew, so that the interval includes
    differences between starts; otherwise one start serves all stages.
    """

    search: SearchRules
    maximum: MaximumRules
    open_loop: OpenLoopRules
    warm_up: WarmUpRules | None = None
    remedies: Remedies | None = None
    validation: ValidationRules | None = None
    within: WithinRules | None = None
    obsolete: Obsolete | None = None
    objective: Objective | None = None
    fresh_server: bool = True
    generators: GeneratorRules = GeneratorRules()


def plan_of(experiment: Experiment) -> CapacityPlan:
    """The settings of a capacity experiment."""
    assert isinstance(experiment.settings, CapacityPlan)
    return experiment.settings


@dataclass(frozen=True)
class Step:
    """One run of a cell.

    Steps of the same `visit` share one start of the server. `repetition` counts within the stage,
    from 0. An open loop has a `rate` in connections/s, at `fraction` of the maximum. `serves`: the
    way in which the server lets sessions be resumed; `resume_ratio`: the share of connections that
    resume. `patience_ms`, `retries`: as in OpenLoopRules. `generators`: the number of generators
    that make the load; None for one. `delay_ms`: the round-trip time of the path to the server;
    None for loopback itself.
    """

    stage: Stage
    visit: int
    repetition: int
    connections: int
    window: Window
    rate: int | None = None
    fraction: float | None = None
    arrivals: str = "poisson"
    patience_ms: int | None = None
    retries: int = 0
    requests_per_connection: int | None = None
    serves: str = "none"
    resume_ratio: float | None = None
    generators: int | None = None
    delay_ms: int | None = None

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
            "delay_ms": self.delay_ms,
        }
        return {name: f"{value}" for name, value in values.items() if value is not None}
