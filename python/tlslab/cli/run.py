"""`tlslab run`: an experiment from plan to report."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tlslab import report
from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import err, out, show_error
from tlslab.cli.options import Allow, Authorities, Insecure
from tlslab.cli.progress import watch
from tlslab.cli.wanted import (
    parse_levels,
    parse_targets,
    with_jdks,
    with_load_options,
    with_targets,
)
from tlslab.experiment import load, with_levels
from tlslab.lab.run import Request, Result, execute
from tlslab.model.errors import UsageError
from tlslab.model.finding import Summary
from tlslab.targets.external import READY_S, TIMEOUT_S, parse_hook

EXIT_VERDICT = 1

EXIT_INTERRUPTED = 130

# Cells with these verdicts have results that may be used; `unsupported` is a result, too.
GOOD_VERDICTS = ("valid", "at_least", "unsupported")


Targets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME,NAME|URL",
        help="Servers to start (tlslab targets lists them), or a URL https://HOST[:PORT]/PATH.",
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FACTOR=LEVEL,LEVEL", help="Other levels for a factor."),
]
Quick = Annotated[bool, typer.Option(help="The experiment's short form.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder to make.")]
Resume = Annotated[
    Path | None, typer.Option(help="A run folder whose missing trials are to be run.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="The seed of the trials' order.")]
ObjectiveText = Annotated[
    str | None,
    typer.Option(metavar="p99<50ms", help="What response times a load experiment must meet."),
]
JdkFolders = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="A Java installation to measure beside those found."),
]
AllowObsolete = Annotated[
    bool,
    typer.Option("--allow-obsolete", help="Run the cell of a load experiment that needs it."),
]
Configure = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Run before each cell, to set the server of a URL up: 'ssh host set {group}'.",
    ),
]
ConfigureTimeout = Annotated[
    float, typer.Option(min=0.1, metavar="SECONDS", help="What that command may take.")
]
Ready = Annotated[
    float, typer.Option(min=0, metavar="SECONDS", help="What the server may take after it.")
]


def command(
    experiment: Annotated[str, typer.Argument(help="A shipped experiment or a file in TOML.")],
    target: Targets = None,
    set_: Levels = None,
    quick: Quick = False,
    out_dir: Out = None,
    resume: Resume = None,
    allow: Allow = None,
    seed: Seed = None,
    ca: Authorities = None,
    insecure: Insecure = False,
    objective: ObjectiveText = None,
    jdk: JdkFolders = None,
    allow_obsolete: AllowObsolete = False,
    configure: Configure = None,
    configure_timeout: ConfigureTimeout = TIMEOUT_S,
    ready: Ready = READY_S,
) -> None:
    """Run an experiment and report on it."""
    if out_dir is not None and resume is not None:
        raise UsageError("--out and --resume exclude each other: a resumed run stays where it is")
    wanted = with_levels(load(experiment, quick), parse_levels(set_ or []))
    wanted = with_jdks(wanted, tuple(jdk or ()))
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
        jdks=tuple(jdk or ()),
    )
    try:
        with watch() as observer:
            result = execute(request, observer)
    except KeyboardInterrupt:
        show_error("interrupted before a trial was finished", "")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    out.print(report.render_text(result.summary))
    raise typer.Exit(_conclude(result))


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
