"""The work of `tlslab plan`: a calibration's answer to one question, printed."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from tlslab.analysis.costs.cost_parts import bytes_part
from tlslab.analysis.costs.model import CostModel
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.cli.console import conclude, out, say
from tlslab.domain.capacity import Objective
from tlslab.domain.command_line import did_you_mean
from tlslab.domain.errors import CannotTellError, TlslabError, UsageError
from tlslab.domain.run import RunContents
from tlslab.domain.sizing import NoSizingError
from tlslab.domain.wording import level_label
from tlslab.experiment import load, shipped
from tlslab.experiment.cells import contradiction
from tlslab.experiment.costs import COSTED, identifying
from tlslab.lab.results import newest_calibration, read_contents
from tlslab.lab.store import RunFolder, to_json
from tlslab.report import resume_command
from tlslab.report.next_steps import NextStep, foot
from tlslab.report.terminal_results import render_sizing
from tlslab.words.costs import implausible_words
from tlslab.words.sizing import refusal

_Levels = Mapping[str, str]


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
    mix = _mix(run, contents, found.model, question)
    if costs := found.implausible.get(bytes_part(mix, contents.experiment)):
        raise CannotTellError(
            f"the calibration is not fit to plan with: {implausible_words(costs)}",
            "make it again with sizes further apart or more blocks: `tlslab run calibrate --set "
            "document_bytes=1024,262144 --blocks N`",
        )
    bounds = Bounds(question.busy_at_most, question.objective)
    try:
        sizing = size(
            found.model,
            found.checks,
            mix,
            bounds,
            rate=question.rate,
            processors=question.processors,
            measured=found.measured,
        )
    except NoSizingError as why:
        raise refusal(why) from None
    if as_json:
        typer.echo(json.dumps(to_json(sizing), allow_nan=False))
    else:
        out.print(render_sizing(sizing, contents.environment))
        out.print(foot(_next(run, contents, question)))
    for damage in run.damages():
        say(f"warning: {damage}")
    return conclude(f"planned with {run.path}", 0)


def _next(run: RunFolder, contents: RunContents, question: Question) -> tuple[NextStep, ...]:
    """The command that checks the answer, and the other question."""
    server = contents.environment.target.name
    words = ("tlslab", "run", "capacity", "--target", server)
    check = (*words, "--objective", str(question.objective)) if question.objective else words
    other = ("--processors", "2") if question.processors is None else ("--new", "5000/s")
    brings = "what N processors carry" if question.processors is None else "processors for a rate"
    return (
        NextStep(check, "measures it"),
        NextStep(("tlslab", "plan", str(run.path), *other), brings),
    )


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


def _mix(run: RunFolder, contents: RunContents, model: CostModel, asked: Question) -> _Levels:
    """The calibration's own mix with the requested levels. Raises UsageError."""
    experiment = contents.experiment
    settings = {name: _level(name, text) for name, text in asked.settings.items() if text}
    mix = experiment.as_planned({**experiment.centre, **settings, **asked.load})
    for name, level in settings.items():
        if mix[name] != level:
            raise UsageError(
                f"--{name} {level} does not apply to the rest of this mix: the calibration has "
                f"{mix[name]} there",
                f"leave --{name} out, or give the --tls that it belongs to",
            )
    if reason := contradiction(experiment, mix):
        raise UsageError(f"there is no such connection: {reason}", "leave one of the two out")
    fixed = [level_label(name, mix[name]) for name in settings if name not in experiment.centre]
    if unknown := [*fixed, *model.unknown(mix)]:
        apart = any(name in model.merged for name in unknown)
        raise UsageError(
            f"the calibration has no cost of: {', '.join(unknown)}"
            + (" (its cells do not tell such parts apart)" if apart else ""),
            f"measure it: `{_command(run, contents, mix)}`",
        )
    return mix


def _command(run: RunFolder, contents: RunContents, mix: _Levels) -> str:
    """The calibration that identifies the cost of a mix."""
    base, name = contents.experiment, str(run.path / "experiment.toml")
    if base.name in shipped():
        base, name = load(base.name), base.name
    words = ["tlslab", "run", name, "--target", contents.environment.target.name]
    for factor, levels in identifying(base, mix).items():
        words += ["--set", f"{factor}={','.join(levels)}"]
    return shlex.join(words)


def _level(factor: str, text: str) -> str:
    rule = COSTED[factor].rule
    level = rule.level(text)
    if level is None:
        raise UsageError(
            f"unknown {factor} '{text}'; known: {rule.allowed}", did_you_mean(text, rule.known)
        )
    return level
