"""`tlslab validate`: are the tool's times those of the packets?"""

import json
from typing import Annotated

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, err, out
from tlslab.cli.options import (
    Allow,
    AsJson,
    Authorities,
    Insecure,
    Status,
    Target,
    Version,
    as_url,
)
from tlslab.experiment.workload import required_status
from tlslab.lab.specs import EXPECTED_STATUS
from tlslab.model.errors import UsageError
from tlslab.model.validation import RateResult, judgements_words

EXIT_DISAGREES = 1


def command(
    rates: Annotated[
        str, typer.Option(metavar="R,R,...", help="New connections per second.")
    ] = "50,200,500,1000,2000",
    seconds: Annotated[
        float, typer.Option(min=0.1, help="At each rate at least; 1,000 connections need longer.")
    ] = 10.0,
    target: Target = "reference",
    pause_ms: Annotated[
        int, typer.Option(min=0, max=10_000, help="The reference server's work per response.")
    ] = 100,
    interface: Annotated[str, typer.Option(help="Where tcpdump listens.")] = "lo",
    backend: Annotated[str, typer.Option(help="auto, rustls or openssl.")] = "auto",
    expect_status: Status = None,
    allow: Allow = None,
    ca: Authorities = None,
    insecure: Insecure = False,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Compare reported times with a packet capture of the same connections.

    Needs tcpdump and the right to capture. Ends with 1 when a time differs by more than 1 % and by
    more than this machine's resolution. A time of which 1 % is less than that resolution is too
    short to judge.
    """
    from tlslab.lab.validate import Request, validate
    from tlslab.report.validation import render_validation
    from tlslab.store import to_json

    request = Request(
        target=as_url(target),
        rates=parse_rates(rates),
        seconds=seconds,
        pause_ms=pause_ms,
        interface=interface,
        backend=backend,
        allow=(*(allow or ()), *read_allow_file()),
        authority=ca,
        insecure=insecure,
        expect_status=required_status(expect_status or EXPECTED_STATUS),
    )
    validation = validate(request, _report)
    if as_json:
        typer.echo(json.dumps(to_json(validation) | {"passed": validation.passed}))
    else:
        out.print(render_validation(validation))
    reported = judgements_words(validation.judgements)
    raise typer.Exit(conclude(reported, 0 if validation.passed else EXIT_DISAGREES))


def parse_rates(text: str) -> tuple[float, ...]:
    """Rates out of `50,200`. Raises UsageError."""
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError:
        rates = ()
    if not rates or not all(0.1 <= rate <= 100_000 for rate in rates):
        raise UsageError(f"--rates {text}: give numbers from 0.1 to 100000, as in 50,200")
    return rates


def _report(result: RateResult) -> None:
    err.print(f"{result.achieved:,.0f} connections/s: {result.matched:,} compared", markup=False)
