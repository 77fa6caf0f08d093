"""From the run folder of a calibration to the summary for its report."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from tlslab.analysis.compare import Measured
from tlslab.analysis.costs.findings import answer, findings
from tlslab.analysis.costs.model import Check, CostModel, checks, fit, implausible_bytes
from tlslab.analysis.costs.tables import figures, tables
from tlslab.analysis.experiment import summarise_experiment
from tlslab.analysis.judged import judged_cells
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.finding import CellSummary, Summary
from tlslab.domain.run import RunContents
from tlslab.domain.wording import counted

# Notes on the limit of the rate, left out here: the cost of a connection does not depend on it.
_NOT_OF_COSTS = ("neither_saturated", "client_saturated", "client_delayed", "server_delayed")


@dataclass(frozen=True)
class Calibration:
    """The cells of a run, the model fitted to some of them, and its check on the others.

    `model` is None if no block has all the cells that the fit needs. `implausible`: the parts whose
    cost of bytes cannot be right (model.implausible_bytes).
    """

    fitted: tuple[Measured, ...]
    held_out: tuple[Measured, ...]
    model: CostModel | None
    checks: tuple[Check, ...]
    implausible: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def measured(self) -> list[Mapping[str, str]]:
        """The levels of the cells that have a cost."""
        cells = (*self.fitted, *self.held_out)
        return [
            cell.summary.factors
            for cell in cells
            if cell.summary.verdict in ("valid", "at_least") and cell.values.get(SERVER_COST)
        ]


def calibration(contents: RunContents) -> Calibration:
    """The results of a calibration run. Pure."""
    experiment = contents.experiment
    measured = [
        each.measured(contents.plan.blocks, anytime=False) for each in judged_cells(contents)
    ]
    cells = [replace(cell, summary=_of_costs(cell)) for cell in measured]
    seen = list(experiment.fitted())
    to_fit = tuple(cell for cell in cells if dict(cell.summary.factors) in seen)
    others = tuple(cell for cell in cells if dict(cell.summary.factors) not in seen)
    model = fit(to_fit, experiment)
    if model is None:
        return Calibration(to_fit, others, None, ())
    implausible = implausible_bytes(model, contents.environment.primitives)
    return Calibration(to_fit, others, model, checks(model, others), implausible)


def summarise(contents: RunContents) -> Summary:
    """The summary of the run. Pure."""
    found = calibration(contents)
    cells = [*found.fitted, *found.held_out]
    reported = findings(found.model, found.checks, tuple(found.implausible.values()))
    return Summary(
        experiment=summarise_experiment(contents, asdict(contents.experiment.workload)),
        environment=contents.environment,
        cells=tuple(cell.summary for cell in cells),
        excluded=contents.plan.excluded,
        comparisons=(),
        findings=reported,
        figures=figures(found.model, found.checks),
        tables=tables(found.model, found.checks),
        method=_method(contents, found),
        answer=answer(contents, found.model, found.checks, reported),
    )


def _of_costs(cell: Measured) -> CellSummary:
    """The summary of a cell without the notes that concern only its rate."""
    reasons = tuple(note for note in cell.summary.reasons if note.code not in _NOT_OF_COSTS)
    return replace(cell.summary, estimates=cell.estimated(), reasons=reasons)


def _method(contents: RunContents, found: Calibration) -> tuple[str, ...]:
    window = contents.experiment.workload.capacity
    return (
        f"{counted(contents.plan.blocks, 'block')}; in each every cell once, in an order drawn "
        f"anew: {window.warmup_ms / 1000:g} s discarded, {window.measure_ms / 1000:g} s of a "
        "closed loop of new connections counted. A cell's cost is the processor time of all the "
        "server's processes over the connections that completed; what the kernel does in "
        "interrupts outside of them is not in it.",
        f"The cost model adds up parts. Each block gives a fit of its own by "
        f"{counted(len(found.fitted), 'cell')} (weighted least squares), so that each part and "
        "each mix has one value from each block: intervals are of 95 % over blocks. "
        f"{counted(len(found.held_out), 'mix').replace('mixs', 'mixes')} did not take part in "
        "the fit.",
    )
