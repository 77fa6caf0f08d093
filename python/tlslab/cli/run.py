"""`tlslab run`: an experiment from plan to report."""

import typer

from tlslab.cli.options import YES, Output
from tlslab.cli.run_options import Options
from tlslab.cli.watching import Watching
from tlslab.domain.errors import UsageError

EXAMPLE = "tlslab run groups --target nginx --quick"


def command(
    context: typer.Context,
    given: Options,
    watching: Watching,
    output: Output,
    yes: bool = YES,
) -> int:
    """Run an experiment, and answer its question: which setting, how much, how many.

    Ends with 0 if every cell has a result that may be used, else with 1.
    """
    from tlslab.cli.running import run

    if given.out is not None and given.resume is not None:
        raise UsageError(
            "--out and --resume are both given",
            "leave --out out: a resumed run stays in its folder",
        )
    return run(context, given, watching, output, yes)
