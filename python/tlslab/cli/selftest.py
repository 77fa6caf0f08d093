"""`tlslab selftest`: what can this machine tell apart?"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tlslab.cli.console import conclude, out, say
from tlslab.cli.ending import EXIT_INTERRUPTED
from tlslab.cli.options import AS_JSON, DETAILS, OUT, SEED, flag, option
from tlslab.cli.values import as_seconds
from tlslab.domain.wording import counted

if TYPE_CHECKING:
    from tlslab.lab.selftest_run import Result

# The warnings that change the result, without --details.
WARNINGS = 3

EXAMPLE = "tlslab selftest --quick"


def command(
    budget: str | None = option(
        "Time limit: 90s, 10m, 1h; 5m by default. More time gives more tries.", metavar="TIME"
    ),
    quick: bool = flag("Make fewer slowdowns and tries, in some 75 s.", "--quick"),
    out_dir: Path | None = OUT,
    seed: int | None = SEED,
    details: bool = DETAILS,
    as_json: bool = AS_JSON,
) -> int:
    """Find which differences this machine can tell apart: equal servers and planted slowdowns.

    Later runs on this machine quote the result. Ends with 0, whatever the result is.
    """
    from tlslab.cli.progress import watch
    from tlslab.lab.selftest_run import BUDGET_S, QUICK_BUDGET_S, SelftestRequest, selftest
    from tlslab.lab.store import to_json
    from tlslab.report.next_steps import NextStep, foot
    from tlslab.report.terminal_results import render_selftest

    usual = QUICK_BUDGET_S if quick else BUDGET_S
    budget_s = usual if budget is None else as_seconds(budget, "--budget")
    request = SelftestRequest(budget_s, ("tlslab", *sys.argv[1:]), quick, out_dir, seed)
    with watch() as observer:
        result = selftest(request, observer)
    if as_json:
        typer.echo(json.dumps(to_json(result.selftest), allow_nan=False))
    else:
        out.print(render_selftest(result.selftest))
        steps = (
            NextStep(("tlslab", "run", "groups", "--quick"), "its report quotes this result"),
            NextStep(("tlslab", "selftest", "--budget", "20m"), "more tries, closer bounds"),
        )
        out.print(foot(steps))
    return _conclude(result, details or as_json)


def _conclude(result: "Result", details: bool) -> int:
    """Prints the disturbances and the places of trials and result; returns the exit code."""
    from tlslab.report import warning_lines
    from tlslab.words.cautions import deciding

    every = warning_lines(result.summary)
    lines = every if details else deciding(result.summary)[0][:WARNINGS]
    for line in lines:
        say(f"warning: {line}")
    if others := len(every) - len(lines):
        say(f"{counted(others, 'more warning')}: --details")
    say(f"trials: {result.folder / 'report.html'}")
    if result.kept is not None:
        say(f"kept for later runs: {result.kept}")
    if result.interrupted:
        return conclude("interrupted", EXIT_INTERRUPTED)
    return conclude("done", 0)
