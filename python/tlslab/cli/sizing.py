"""The work of `tlslab plan`: a calibration's answer to one question, printed."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from tlslab.analysis.costs.model import CostModel
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.cli.console import conclude, out, say
from tlslab.experiment.costs import COST_RULES
from tlslab.lab.results import newest_calibration, read_contents
from tlslab.model.capacity import Objective
from tlslab.model.errors import CannotTellError, TlslabError, UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.run import RunContents
from tlslab.model.suggest import did_you_mean
from tlslab.report import resume_command
from tlslab.report.sizing_words import render_sizing
from tlslab.store import RunFolder, to_json


@dataclass(frozen=True)
class Question:
    """The question to a calibration: the processors for a rate, or the rate of N processors.

    `rate` in new connections/s, or `processors`: one of them is None. `busy_at_most` is a share of
    each processor's time. `load` and `settings` are levels of the mix by factor; None stands for
    the calibration's own setting.
    """

    rate: float | None
    processors: int | None
    busy_at_most: float
    objective: Objective | None
    load: Mapping[str, str]
    settings: Mapping[str, str | None]


def plan(folder: Path | None, question: Question, as_json: bool) -> int:
    """Prints the answer of the calibration in a folder, by default the newest; returns the exit
    code.

    Raises UsageError, StoreError, CannotTellError.
    """
    run = RunFolder.open(folder if folder is not None else newest_calibration())
    contents = read_contents(run)
    if contents.experiment.design is None:
        raise UsageError(
            f"{run.path} has no costs of parts: it is a run of {contents.experiment.name}",
            "make one: `tlslab run calibrate --target SERVER`",
        )
    found = calibration(contents)
    if found.model is None:
        raise _no_model(run, contents)
    mix = _mix(found.model, contents.experiment, question)
    bounds = Bounds(question.busy_at_most, question.objective)
    sizing = size(
        found.model,
        found.checks,
        mix,
        bounds,
        rate=question.rate,
        processors=question.processors,
        measured=found.measured,
    )
    if as_json:
        typer.echo(json.dumps(to_json(sizing), allow_nan=False))
    else:
        out.print(render_sizing(sizing, contents.environment))
    for damage in run.damages():
        say(f"warning: {damage}")
    return conclude(f"planned with {run.path}", 0)


def _no_model(run: RunFolder, contents: RunContents) -> TlslabError:
    """The error of a calibration without a cost model."""
    reason = f"{run.path} gives no cost model: no block has the costs of enough valid cells"
    if len(contents.trials) < len(contents.plan.trials):
        return UsageError(reason, f"finish the run: `{resume_command(run.path)}`")
    return CannotTellError(
        reason,
        f"`tlslab report {shlex.quote(str(run.path))}` shows what failed; then make another one: "
        "`tlslab run calibrate --target SERVER`",
    )


def _mix(model: CostModel, experiment: Experiment, question: Question) -> dict[str, str]:
    """The calibration's own mix with the requested levels. Raises UsageError."""
    settings = {name: _level(name, text) for name, text in question.settings.items() if text}
    mix = experiment.as_planned({**model.centre, **settings, **question.load})
    if unknown := model.unknown(mix):
        raise UsageError(
            f"the calibration has no cost of: {', '.join(unknown)}",
            "measure it: `tlslab run calibrate --set FACTOR=LEVEL,LEVEL` with what is missing",
        )
    return mix


def _level(factor: str, text: str) -> str:
    rule = COST_RULES[factor]
    level = rule.level(text)
    if level is None:
        raise UsageError(
            f"unknown {factor} '{text}'; known: {rule.allowed}", did_you_mean(text, rule.known)
        )
    return level
