"""`tlslab run`: an experiment from plan to report."""

from pathlib import Path
from typing import Annotated

import typer

from tlslab.cli.options import (
    EXPERIMENTS,
    FAIL,
    MOST_SECONDS,
    SERVERS,
    Allow,
    AsJson,
    Authorities,
    Budget,
    Dry,
    Generators,
    Insecure,
    OnLostHost,
    Out,
    Seed,
    ServerMetrics,
    Status,
    Version,
    Yes,
    complete_experiment,
    complete_target,
)
from tlslab.cli.watching import LivePage, Metrics, Watching
from tlslab.domain.command_line import READY_S, TIMEOUT_S
from tlslab.domain.errors import UsageError

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help=f"Experiment to run ({EXPERIMENTS}), or a TOML file; none with --resume.",
        autocompletion=complete_experiment,
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME,NAME|URL,URL",
        help=f"Servers to start ({SERVERS}), or running ones: https://HOST[:PORT]/PATH or "
        "HOST:PORT; repeatable.",
        autocompletion=complete_target,
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FACTOR=LEVEL,LEVEL",
        help="Levels of a factor, instead of the experiment's; repeatable: group=X25519,P-256.",
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Run the short form of the experiment.")]
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Number of blocks: passes over all cells, each in a new random order. With --until or "
        "--budget: their maximum.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="End when each comparison is settled: a difference is established, or one of more "
        "than PERCENT is excluded: 2%.",
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        min=0.1,
        max=MOST_SECONDS,
        help="Length of each measurement in seconds, without its warm-up.",
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Complete the run in this folder, with the options of its first command.",
    ),
]
ObjectiveText = Annotated[
    str | None,
    typer.Option(metavar="p99<50ms", help="Capacity experiments: the response time to meet."),
]
JdkFolders = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="Java installation to measure, in addition to those found; repeatable.",
    ),
]
AllowObsolete = Annotated[
    bool,
    typer.Option(
        "--allow-obsolete", help="Capacity experiments: also run the cell with obsolete settings."
    ),
]
Proof = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="Token of the page /.well-known/tlslab-TOKEN, which a public host must serve before a "
        "load of more than 1,000 connections/s or 60 s.",
    ),
]
Configure = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command that configures the server of a URL. It runs before each cell: "
        "'ssh host set {group}'.",
    ),
]
ConfigureTimeout = Annotated[
    float,
    typer.Option(
        min=0.1,
        max=MOST_SECONDS,
        metavar="SECONDS",
        help="Time limit of --configure, in seconds.",
    ),
]
Ready = Annotated[
    float,
    typer.Option(
        min=0,
        max=MOST_SECONDS,
        metavar="SECONDS",
        help="Time limit for the server to be ready after --configure, in seconds.",
    ),
]
Why = Annotated[
    bool,
    typer.Option(
        "--why",
        help="After the trials, sample the server's call stacks with perf, to show the parts of a "
        "connection's cost.",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of this machine on which servers that the lab starts listen, for generators "
        "on other hosts; 127.0.0.1 by default.",
    ),
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

    Ends with 0 if every cell has a result that may be used, else with 1.
    """
    from tlslab.cli.running import run

    if out_dir is not None and resume is not None:
        raise UsageError(
            "--out and --resume are both given",
            "leave --out out: a resumed run stays in its folder",
        )
    # `run` reads the options from the context, which knows which of them were given (--resume).
    raise typer.Exit(run(context, Watching.of(metrics, live)))
