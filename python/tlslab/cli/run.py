"""`tlslab run`: an experiment from plan to report."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tlslab import report
from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import err, out, show_error
from tlslab.cli.progress import watch
from tlslab.experiment import load, with_levels
from tlslab.experiment.load import required_objective
from tlslab.lab.run import Request, Result, execute
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.finding import Summary
from tlslab.model.load import LoadPlan
from tlslab.targets.external import READY_S, TIMEOUT_S, parse_hook
from tlslab.targets.jdk import expand

EXIT_VERDICT = 1

DEFAULT_TARGET = "reference"
EXIT_INTERRUPTED = 130

# Cells with these verdicts have results that may be used; `unsupported` is a result, too.
GOOD_VERDICTS = ("valid", "at_least", "unsupported")


def command(
    experiment: Annotated[str, typer.Argument(help="A shipped experiment or a file in TOML.")],
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,NAME|URL",
            help="Servers to start (tlslab targets lists them), or a URL https://HOST[:PORT]/PATH.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FACTOR=LEVEL,LEVEL", help="Other levels for a factor."),
    ] = None,
    quick: Annotated[bool, typer.Option(help="The experiment's short form.")] = False,
    out_dir: Annotated[Path | None, typer.Option("--out", help="The run folder to make.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="A run folder whose missing trials are to be run.")
    ] = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A host that may be loaded.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The seed of the trials' order.")] = None,
    ca: Annotated[
        Path | None, typer.Option("--ca", help="PEM file of the authorities to trust.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Trust any certificate; signatures are checked.")
    ] = False,
    objective: Annotated[
        str | None,
        typer.Option(metavar="p99<50ms", help="What response times a load experiment must meet."),
    ] = None,
    jdk: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="A Java installation to measure beside those found."),
    ] = None,
    allow_obsolete: Annotated[
        bool,
        typer.Option("--allow-obsolete", help="Run the cell of a load experiment that needs it."),
    ] = False,
    configure: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Run before each cell, to set the server of a URL up: 'ssh host set {group}'.",
        ),
    ] = None,
    configure_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="What that command may take.")
    ] = TIMEOUT_S,
    ready: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="What the server may take after it.")
    ] = READY_S,
) -> None:
    """Run an experiment and report on it."""
    if out_dir is not None and resume is not None:
        raise UsageError("--out and --resume exclude each other: a resumed run stays where it is")
    wanted = with_levels(load(experiment, quick), parse_levels(set_ or []))
    wanted = with_jdks(wanted, jdk or [])
    wanted = with_load_options(wanted, objective, allow_obsolete)
    wanted, targets = with_targets(wanted, parse_targets(target or []))
    factors = [factor.name for factor in wanted.factors]
    hook = None if configure is None else parse_hook(configure, factors, configure_timeout)
    request = Request(
        experiment=wanted,
        targets=targets,
        command=("tlslab", *sys.argv[1:]),
        out=out_dir,
        resume=resume,
        allow=(*(allow or ()), *read_allow_file()),
        seed=seed,
        authority=ca,
        insecure=insecure,
        hook=hook,
        ready_s=ready,
    )
    try:
        with watch() as observer:
            result = execute(request, observer)
    except KeyboardInterrupt:
        show_error("interrupted before a trial was finished", "")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    out.print(report.render_text(result.summary))
    raise typer.Exit(_conclude(result))


def with_jdks(experiment: Experiment, given: list[Path]) -> Experiment:
    """The experiment on the Java installations of this machine and those given. UsageError."""
    levels = experiment.levels("jdk")
    if not levels:
        if given:
            raise UsageError("--jdk is for experiments with the factor jdk: runtimes")
        return experiment
    return with_levels(experiment, {"jdk": expand(levels, given)})


def with_load_options(
    experiment: Experiment, objective: str | None, allow_obsolete: bool
) -> Experiment:
    """The experiment with another objective, and without its obsolete cell unless it is allowed."""
    load = experiment.settings
    if not isinstance(load, LoadPlan):
        if objective is not None or allow_obsolete:
            raise UsageError("--objective and --allow-obsolete are for load experiments: capacity")
        return experiment
    if objective is not None:
        load = replace(load, objective=required_objective(objective))
    if not allow_obsolete:
        load = replace(load, obsolete=None)
    return replace(experiment, settings=load)


def parse_targets(given: list[str]) -> tuple[str, ...]:
    """`--target` options, each a URL or names with commas between them; none twice."""
    names = [
        part.strip()
        for each in given
        for part in ([each] if "://" in each else each.split(","))
        if part.strip()
    ]
    return tuple(dict.fromkeys(names))


def with_targets(
    experiment: Experiment, targets: tuple[str, ...]
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with these servers, and its servers; several are levels of a factor.

    Without any, those of the experiment, or the reference server. Raises UsageError.
    """
    if not targets:
        return experiment, experiment.levels("server") or (DEFAULT_TARGET,)
    if any("://" in target for target in targets):
        if len(targets) > 1 or experiment.levels("server"):
            raise UsageError("--target: a URL cannot be compared with other servers in one run")
        return experiment, targets
    if len(targets) > 1 or experiment.levels("server"):
        experiment = with_levels(experiment, {"server": targets})
    return experiment, targets


def parse_levels(settings: list[str]) -> dict[str, tuple[str, ...]]:
    """`--set` options as levels by factor; a factor may be given once. Raises UsageError."""
    levels: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        factor, equals, values = setting.partition("=")
        wanted = tuple(value.strip() for value in values.split(",") if value.strip())
        if not equals or not wanted:
            raise UsageError(f"--set {setting}: has the form FACTOR=LEVEL,LEVEL")
        if factor in levels:
            raise UsageError(f"--set names the factor '{factor}' twice")
        levels[factor] = wanted
    return levels


def _conclude(result: Result) -> int:
    """Says where the results are; the exit code."""
    err.print(f"report: {result.folder / 'report.html'}", soft_wrap=True, markup=False)
    if result.interrupted:
        again = shlex.join([*_without_out(sys.argv[1:]), "--resume", str(result.folder)])
        err.print(f"interrupted; the rest: tlslab {again}", soft_wrap=True, markup=False)
        return EXIT_INTERRUPTED
    return exit_code(result.summary)


def exit_code(summary: Summary) -> int:
    """0 when every cell has a usable result and one at least was measured, else 1."""
    verdicts = [cell.verdict for cell in summary.cells]
    measured = any(verdict in ("valid", "at_least") for verdict in verdicts)
    return 0 if measured and all(v in GOOD_VERDICTS for v in verdicts) else EXIT_VERDICT


def _without_out(arguments: list[str]) -> list[str]:
    """The arguments without --out and --resume, which a resumed run states anew."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("--out", "--resume"):
            skip = True
        elif not argument.startswith(("--out=", "--resume=")):
            kept.append(argument)
    return kept
