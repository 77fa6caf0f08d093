"""The experiment of a run, in the form of its summary."""

from collections.abc import Mapping
from typing import Any

from tlslab.domain.finding import ExperimentSummary
from tlslab.domain.run import RunContents


def summarise_experiment(contents: RunContents, workload: Mapping[str, Any]) -> ExperimentSummary:
    """The experiment in short; `workload` has the settings of its trials by name."""
    experiment, plan = contents.experiment, contents.plan
    return ExperimentSummary(
        name=experiment.name,
        title=experiment.title,
        target=contents.environment.target.name,
        seed=plan.seed,
        blocks=plan.blocks,
        planned_cells=len(plan.cells),
        factors={factor.name: factor.levels for factor in experiment.factors},
        baseline=dict(experiment.baseline),
        workload=workload,
        kind=experiment.kind,
    )
