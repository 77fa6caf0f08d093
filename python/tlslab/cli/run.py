"""`tlslab run`: an experiment from plan to report."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tlslab import report
from tlslab.cli import dry
from tlslab.cli.allow import read_allow_file
from tlslab.cli.carrying_out import carry_out
from tlslab.cli.console import conclude, err, say
from tlslab.cli.ending import EXIT_INTERRUPTED, exit_code, reason
from tlslab.cli.options import (
    EXPERIMENTS,
    FAIL,
    SERVERS,
    Allow,
    AsJson,
    Authorities,
    Generators,
    Insecure,
    OnLostHost,
    Status,
    Version,
    as_seconds,
    complete_experiment,
    complete_target,
)
from tlslab.cli.resumed import folder_experiment, refuse_commands, taken_over
from tlslab.cli.wanted import (
    Changes,
    changed,
    parse_targets,
    with_targets,
)
from tlslab.cli.watching import LivePage, Metrics, Watching
from tlslab.experiment import file_kind, load
from tlslab.lab.budget import MOST, within
from tlslab.lab.generators.choose import check_generators, check_policy
from tlslab.lab.generators.reach import require_reachable
from tlslab.lab.run import Request, Result
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.store import RunFolder
from tlslab.targets.address import own_address
from tlslab.targets.external import READY_S, SETTLE_S, TIMEOUT_S, parse_hook

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help=f"{EXPERIMENTS}, or a file in TOML; not needed with --resume.",
        autocompletion=complete_experiment,
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME,NAME|URL",
        help=f"Servers to start ({SERVERS}), or a running one: https://HOST[:PORT]/PATH or "
        "HOST:PORT.",
        autocompletion=complete_target,
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FACTOR=LEVEL,LEVEL", help="Other levels for a factor."),
]
Quick = Annotated[bool, typer.Option("--quick", help="The experiment's short form.")]
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Passes over all cells, each in an order of its own: exactly N; N at most with "
        "--until or --budget.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="End when each comparison is settled: a difference is established, or one of more "
        "than this is excluded (2%).",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="End within this time (90s, 10m, 2h), or when settled; with a fixed plan as many "
        "blocks as fit.",
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="S", min=0.1, max=3600, help="The length of each measurement, without its warm-up."
    ),
]
Dry = Annotated[
    bool, typer.Option("--dry-run", help="Show the plan and its length; start and write nothing.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The run folder to make.")]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Run what is missing in a run folder, as it was begun."),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="The seed of the trials' order.")
]
ObjectiveText = Annotated[
    str | None,
    typer.Option(metavar="p99<50ms", help="What response times a capacity experiment must meet."),
]
JdkFolders = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="A Java installation to measure beside those found."),
]
AllowObsolete = Annotated[
    bool,
    typer.Option("--allow-obsolete", help="Run the cell of a capacity experiment that needs it."),
]
Proof = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="For a public host beyond 1,000 connections/s or 60 s: it serves "
        "/.well-known/tlslab-TOKEN.",
    ),
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
ServerMetrics = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="A node_exporter on the host of a running server, for its processor time: "
        "http://HOST:9100/metrics.",
    ),
]
Why = Annotated[
    bool,
    typer.Option(
        "--why",
        help="After the trials, sample the server's call stacks by perf: what a connection's cost "
        "is made of.",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The address of this machine on which servers that the lab starts listen, for "
        "generators on other hosts; loopback by default.",
    ),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Build or fetch what is missing for it, without asking."),
]


def command(
    context: typer.Context,
    experiment: Name = None,
    target: Targets = None,
    set_: Levels = None,
    quick: Quick = False,
    blocks: Blocks = None,
    until: Until = None,
    budget: Budget = None,
    seconds: Seconds = None,
    expect_status: Status = None,
    dry_run: Dry = False,
    out_dir: Out = None,
    resume: Resume = None,
    allow: Allow = None,
    proof: Proof = None,
    seed: Seed = None,
    ca: Authorities = None,
    insecure: Insecure = False,
    objective: ObjectiveText = None,
    jdk: JdkFolders = None,
    allow_obsolete: AllowObsolete = False,
    configure: Configure = None,
    configure_timeout: ConfigureTimeout = TIMEOUT_S,
    ready: Ready = READY_S,
    server_metrics: ServerMetrics = None,
    why: Why = False,
    generators: Generators = None,
    on_lost_host: OnLostHost = FAIL,
    listen: Listen = None,
    metrics: Metrics = None,
    live: LivePage = None,
    yes: Yes = False,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Run an experiment and report on it.

    Ends with 0 when every cell has a result that may be used, with 1 when one has not.
    """
    if out_dir is not None and resume is not None:
        raise UsageError("--out and --resume exclude each other: a resumed run stays where it is")
    watching = Watching.of(metrics, live)
    options = dict(context.params)
    if experiment is None:
        if resume is None:
            raise UsageError("which experiment?", f"give {EXPERIMENTS}, or a file in TOML")
        wanted = folder_experiment(RunFolder.open(resume))
        options |= taken_over(context, resume)
    else:
        changes = Changes(
            tuple(set_ or ()), tuple(jdk or ()), objective, allow_obsolete, blocks, seconds,
            expect_status, until, budget,
        )  # fmt: skip
        loaded = load(experiment, quick)
        refuse_commands(loaded)
        wanted = changed(loaded, changes)
    request = _request(wanted, options)
    if budget is not None and file_kind(wanted).why_fixed:
        fitted = within(request, as_seconds(budget, "--budget"), blocks or MOST)
        request = fitted.request
        if fitted.reservation:
            say(f"warning: {fitted.reservation}")
    if dry_run:
        raise typer.Exit(dry.show(request, as_json))
    result = carry_out(request, yes, as_json, watching)
    raise typer.Exit(_conclude(result, as_json))


def _request(experiment: Experiment, options: dict[str, Any]) -> Request:
    """What is asked for, by the values of the options. Raises UsageError."""
    experiment, targets = with_targets(experiment, parse_targets(options["target"] or []))
    factors = [factor.name for factor in experiment.factors]
    configure = options["configure"]
    timeout_s = options["configure_timeout"]
    request = Request(
        experiment=experiment,
        targets=targets,
        command=("tlslab", *sys.argv[1:]),
        out=options["out_dir"],
        resume=options["resume"],
        allow=tuple(options["allow"] or ()),
        proof=options["proof"],
        seed=options["seed"],
        authority=options["ca"],
        insecure=options["insecure"],
        hook=None if configure is None else parse_hook(configure, factors, timeout_s),
        ready_s=options["ready"],
        settle_s=options.get("settle", SETTLE_S),
        jdks=tuple(options["jdk"] or ()),
        server_metrics=options["server_metrics"],
        why=options["why"],
        generators=check_generators(options["generators"]),
        on_lost_host=check_policy(options["on_lost_host"], options["generators"]),
        listen=None if options.get("listen") is None else own_address(options["listen"]),
    )
    # Before anything else, so that a file that is not there is no late surprise.
    request.trust()
    if not request.external:
        require_reachable(request.generators, request.listen)
    return replace(request, allow=(*request.allow, *read_allow_file()))


def _conclude(result: Result, as_json: bool) -> int:
    """Says where the results are, and why the exit code is what it is; the exit code."""
    if as_json:
        for warning in report.warning_lines(result.summary):
            say(f"warning: {warning}")
    err.print(f"report: {result.folder / 'report.html'}", soft_wrap=True, markup=False)
    if result.interrupted:
        say(f"the rest: {report.resume_command(result.folder)}")
        return conclude("interrupted", EXIT_INTERRUPTED)
    code = exit_code(result.summary)
    return conclude(reason([cell.verdict for cell in result.summary.cells]), code)
