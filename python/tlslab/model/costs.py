"""What an experiment of the kind `costs` asks for: which combinations of levels are measured.

The first levels of all factors together are the centre. A cost model is fitted to the centre, to
every other level by itself, and to some combinations more; others are measured beside them and held
out of the fit, to show how far the model can be trusted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tlslab.model.experiment import Experiment

Levels = Mapping[str, str]

# Factors whose levels are numbers: a combination may have any, whatever the factor's own levels.
QUANTITIES = ("resumed", "requests", "document_bytes")


@dataclass(frozen=True)
class CostSettings:
    """Combinations beside those with one level changed: what each changes in the centre."""

    more: tuple[Levels, ...] = ()
    held_out: tuple[Levels, ...] = ()


def cost_settings(experiment: Experiment) -> CostSettings:
    """The settings of an experiment of this kind."""
    assert isinstance(experiment.settings, CostSettings)
    return experiment.settings


def centre(experiment: Experiment) -> dict[str, str]:
    """The first level of each factor."""
    return {factor.name: factor.levels[0] for factor in experiment.factors}


def fitted(experiment: Experiment) -> Iterator[dict[str, str]]:
    """The combinations that the model is fitted to, the centre first."""
    middle = centre(experiment)
    yield experiment.as_planned(middle)
    for factor in experiment.factors:
        for level in factor.levels[1:]:
            yield experiment.as_planned({**middle, factor.name: level})
    yield from _changed(experiment, cost_settings(experiment).more)


def held_out(experiment: Experiment) -> Iterator[dict[str, str]]:
    """The combinations that are held out of the fit."""
    yield from _changed(experiment, cost_settings(experiment).held_out)


def _changed(experiment: Experiment, changes: tuple[Levels, ...]) -> Iterator[dict[str, str]]:
    """The centre with each of these changes, where its factors have such levels."""
    for change in changes:
        if all(_has(experiment, name, level) for name, level in change.items()):
            yield experiment.as_planned({**centre(experiment), **change})


def _has(experiment: Experiment, factor: str, level: str) -> bool:
    levels = experiment.levels(factor)
    return bool(levels) if factor in QUANTITIES else level in levels
