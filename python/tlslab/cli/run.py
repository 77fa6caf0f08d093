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
    typer.Option(
        "--set",
        metavar="FACTOR=LEVEL,LEVEL",
        help="Other levels for a factor; repeatable: --set group=X25519,P-256.",
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="The experiment's short form.")]
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Passes over all cells, each in a random order of its own: exactly N; with --until or "
        "--budget N at most.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="End when each comparison is settled: a difference is established, or a difference of "
        "more than this is excluded: 2%.",
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="S", min=0.1, max=3600, help="The length of each measurement, without its warm-up."
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Finish the run of this folder, with the options that it was started with.",
    ),
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
    typer.Option(
        "--allow-obsolete", help="Run the cell of a capacity experiment that has obsolete settings."
    ),
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
        help="A command that sets the server of a URL up, run before each cell: "
        "'ssh host set {group}'.",
    ),
]
ConfigureTimeout = Annotated[
    float, typer.Option(min=0.1, metavar="SECONDS", help="The longest that --configure may take.")
]
Ready = Annotated[
    float,
    typer.Option(
        min=0, metavar="SECONDS", help="The longest that the server may take after --configure."
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
        raise UsageError(
            "--out and --resume are both given",
            "leave --out out: a resumed run stays in its folder",
        )
    # `run` reads the options from the context, which knows which of them were given (--resume).
    raise typer.Exit(run(context, Watching.of(metrics, live)))
