"""The options of `tlslab run`."""

from pathlib import Path

from tlslab.cli.options import (
    ALLOW,
    AUTHORITIES,
    BUDGET,
    DRY,
    EXPERIMENTS,
    GENERATORS,
    INSECURE,
    LENGTH,
    MOST_SECONDS,
    ON_LOST_HOST,
    OUT,
    PRINTED,
    RUNNING,
    SEED,
    SERVER_METRICS,
    SERVERS,
    SEVERAL,
    STATUS,
    argument,
    complete_experiment,
    complete_target,
    flag,
    option,
    options,
)
from tlslab.domain.command_line import READY_S, TIMEOUT_S

SOME = "Some experiments"


@options
class Options:
    """What is run, and how; fields that the request for a run has too have its names."""

    experiment: str | None = argument(
        f"Experiment to run ({EXPERIMENTS}), or a TOML file; none with --resume.",
        metavar="EXPERIMENT",
        autocompletion=complete_experiment,
    )
    target: list[str] | None = option(
        f"Servers to start ({SERVERS}), or running ones: https://HOST[:PORT]/PATH; repeatable.",
        metavar="NAME|URL,...",
        autocompletion=complete_target,
    )
    settings: list[str] | None = option(
        "Levels of a factor, instead of the experiment's; repeatable: group=X25519,P-256.",
        "--set",
        metavar="FACTOR=LEVEL,LEVEL",
    )
    vary: list[str] | None = option(
        "What does a factor change? Without an experiment: --vary tls=1.2,1.3; repeatable.",
        metavar="FACTOR=LEVEL,LEVEL",
    )
    measure: str | None = option(
        "With --vary: what is measured of each combination: new and resumed connections, "
        "requests on connections kept open; by default new,resumed, beside tls=none "
        "new,request.",
        metavar="new,resumed,request",
        panel=SOME,
    )
    mix: str | None = option(
        "With --vary: the load that weighs them: '60% resumed, 8 requests'.",
        metavar="MIX",
        panel=SOME,
    )
    quick: bool = flag("Run the short form of the experiment.", "--quick")
    as_published: bool = flag(
        "Run a study's experiment as it was published: its connections, counts, lengths and "
        "repetitions. It takes hours: --dry-run shows how many.",
        "--as-published",
        panel=LENGTH,
    )
    blocks: int | None = option(
        "Number of blocks: passes over all cells, each in a new random order. With --until or "
        "--budget: their maximum.",
        metavar="N",
        min=1,
        max=1000,
        panel=LENGTH,
    )
    until: str | None = option(
        "End when each comparison is settled: a difference is established, or one of more "
        "than PERCENT is excluded: 2%.",
        metavar="PERCENT",
        panel=LENGTH,
    )
    budget: str | None = BUDGET
    seconds: float | None = option(
        "Length of each measurement in seconds, without its warm-up.",
        metavar="S",
        min=0.1,
        max=MOST_SECONDS,
        panel=LENGTH,
    )
    expect_status: str | None = STATUS
    dry_run: bool = DRY
    out: Path | None = OUT
    resume: Path | None = option(
        "Complete the run in this folder, with the options of its first command; with --budget, "
        "go on with it for a time.",
        metavar="DIR",
        panel=PRINTED,
    )
    allow: list[str] | None = ALLOW
    proof: str | None = option(
        "Token of the page /.well-known/tlslab-TOKEN, which a public host must serve before a "
        "load of more than 1,000 connections/s or 60 s.",
        metavar="TOKEN",
        panel=RUNNING,
    )
    seed: int | None = SEED
    authority: Path | None = AUTHORITIES
    insecure: bool = INSECURE
    objective: str | None = option(
        "Capacity experiments: the response time to meet.", metavar="p99<50ms"
    )
    jdks: list[Path] | None = option(
        "Java installation to measure, in addition to those found; repeatable.",
        "--jdk",
        metavar="DIR",
        panel=SOME,
    )
    allow_obsolete: bool = flag(
        "Capacity experiments: also run the cell with obsolete settings.",
        "--allow-obsolete",
        panel=SOME,
    )
    configure: str | None = option(
        "Command that configures the server of a URL. It runs before each cell: "
        "'ssh host set {group}'.",
        metavar="COMMAND",
        panel=RUNNING,
    )
    configure_timeout: float = option(
        "Time limit of --configure, in seconds.",
        default=TIMEOUT_S,
        min=0.1,
        max=MOST_SECONDS,
        metavar="SECONDS",
        panel=RUNNING,
    )
    ready_s: float = option(
        "Time limit for the server to be ready after --configure, in seconds.",
        "--ready",
        default=READY_S,
        min=0,
        max=MOST_SECONDS,
        metavar="SECONDS",
        panel=RUNNING,
    )
    server_metrics: str | None = SERVER_METRICS
    why: bool = flag(
        "After the trials, sample the server's call stacks with perf, to show the parts of a "
        "connection's cost.",
        "--why",
        panel=SOME,
    )
    generators: str | None = GENERATORS
    on_lost_host: str = ON_LOST_HOST
    listen: str | None = option(
        "Address of this machine on which servers that the lab starts listen, for generators "
        "on other hosts; 127.0.0.1 by default.",
        metavar="ADDRESS",
        panel=SEVERAL,
    )
