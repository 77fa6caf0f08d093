"""Carries a run out, as every command does that makes one."""

import json

import typer

from tlslab import report
from tlslab.cli.console import show
from tlslab.cli.parts import provide
from tlslab.cli.progress import watch
from tlslab.lab.run import Request, Result, execute
from tlslab.store import to_json


def carry_out(request: Request, yes: bool, as_json: bool) -> Result:
    """Gets what the run lacks, runs it with its progress shown, and prints its report.

    `yes`: what is missing is built or fetched without a question. Raises UsageError,
    CannotRunError.
    """
    provide(request, yes)
    with watch() as observer:
        result = execute(request, observer)
    if as_json:
        typer.echo(json.dumps(to_json(result.summary), allow_nan=False))
    else:
        show(report.render_text(result.summary))
    return result
