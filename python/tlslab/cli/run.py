"""`tlslab run`: an experiment from plan to report."""

import typer

from tlslab.cli.options import AS_JSON, YES
from tlslab.cli.run_options import Options
from tlslab.cli.watching import Watching
from tlslab.domain.errors import UsageError


def command(
    context: typer.Context,
    given: Options,
    watching: Watching,
    yes: bool = YES,
    as_json: bool = AS_JSON,
) -> int:
    """Run an experiment and report on it.

    Ends with 0 if every cell has a result that may be used, else with 1.
    """
    from tlslab.cli.running import run

    if given.out is not None and given.resume is not None:
        raise UsageError(
            "--out and --resume are both given",
            "leave --out out: a resumed run stays in its folder",
        )
    return run(context, given, watching, yes, as_json)
