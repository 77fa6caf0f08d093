"""`tlslab run`: an experiment from plan to report."""

from pathlib import Path
from typing import Annotated

import typer

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
    complete_experiment,
    complete_target,
)
from tlslab.cli.watching import LivePage, Metrics, Watching
from tlslab.model.errors import UsageError
from tlslab.model.hook_times import READY_S, TIMEOUT_S

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
    from tlslab.cli.running import run

    if out_dir is not None and resume is not None:
        raise UsageError("--out and --resume exclude each other: a resumed run stays where it is")
    # It reads the options from the context: a resumed run has to know which of them were given.
    raise typer.Exit(run(context, Watching.of(metrics, live)))
