"""`tlslab validate`: are the tool's times those of the packets?"""

import json
from enum import StrEnum
from pathlib import Path

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, err, out, write_utf8
from tlslab.cli.options import (
    ALLOW,
    AS_JSON,
    AUTHORITIES,
    FINE,
    INSECURE,
    MOST_SECONDS,
    STATUS,
    TARGET,
    option,
)
from tlslab.cli.values import as_url
from tlslab.domain.errors import UsageError
from tlslab.domain.validation import RateResult, Validation, results_words
from tlslab.domain.workload import EXPECTED_STATUS
from tlslab.experiment.workload import required_status

EXIT_DISAGREES = 1


class TimesFormat(StrEnum):
    """The forms of a validation."""

    text = "text"
    markdown = "markdown"
    csv = "csv"
    json = "json"


EXAMPLE = "tlslab validate --target nginx"


def command(
    rates: str = option(
        "Rates at which to compare, in new connections per second.",
        default="50,200,500,1000,2000",
        metavar="R,R,...",
    ),
    seconds: float = option(
        "Time at each rate in seconds; longer if 1,000 connections take longer.",
        default=10.0,
        min=0.1,
        max=MOST_SECONDS,
    ),
    target: str = TARGET,
    pause_ms: int = option(
        "Reference server's work per response, in ms.", default=100, min=0, max=10000, panel=FINE
    ),
    delay_ms: float = option(
        "Round trip of a path to the server, in ms.", default=0.0, min=0, max=1000, panel=FINE
    ),
    interface: str = option(
        "Network interface on which tcpdump captures.", default="lo", panel=FINE
    ),
    backend: str = option(
        "TLS library of the client: auto, rustls, openssl.", default="auto", panel=FINE
    ),
    expect_status: str | None = STATUS,
    allow: list[str] | None = ALLOW,
    ca: Path | None = AUTHORITIES,
    insecure: bool = INSECURE,
    format_: TimesFormat = option(
        "Format of standard output; csv: one line per time.", "--format", default=TimesFormat.text
    ),
    as_json: bool = AS_JSON,
) -> int:
    """Compare reported times with a packet capture of the same connections.

    Needs tcpdump and the right to capture. Ends with 1 when a time differs by more than 1 % and by
    more than this machine's resolution. A time of which 1 % is less than that resolution is too
    short to judge.
    """
    from tlslab.lab.validate import ValidationRequest, validate

    request = ValidationRequest(
        target=as_url(target),
        rates=parse_rates(rates),
        seconds=seconds,
        pause_ms=pause_ms,
        interface=interface,
        delay_ms=delay_ms,
        backend=backend,
        allow=(*(allow or ()), *read_allow_file()),
        authority=ca,
        insecure=insecure,
        expect_status=required_status(expect_status or EXPECTED_STATUS),
    )
    validation = validate(request, _report)
    _print(validation, TimesFormat.json if as_json else format_)
    reported = results_words(validation.rates)
    return conclude(reported, 0 if validation.passed else EXIT_DISAGREES)


def _print(found: Validation, form: TimesFormat) -> None:
    from tlslab.lab.store import to_json
    from tlslab.report.validation import render_validation, validation_csv, validation_markdown

    match form:
        case TimesFormat.text:
            out.print(render_validation(found))
        case TimesFormat.markdown:
            write_utf8(validation_markdown(found))
        case TimesFormat.csv:
            write_utf8(validation_csv(found))
        case TimesFormat.json:
            typer.echo(json.dumps(to_json(found) | {"passed": found.passed}))


def parse_rates(text: str) -> tuple[float, ...]:
    """`50,200` as rates in connections/s. Raises UsageError."""
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError:
        rates = ()
    if not rates or not all(0.1 <= rate <= 100_000 for rate in rates):
        raise UsageError(
            f"--rates {text}: not rates from 0.1 to 100000 connections/s", "write them like 50,200"
        )
    return rates


def _report(result: RateResult) -> None:
    err.print(f"{result.achieved:,.0f} connections/s: {result.matched:,} compared", markup=False)
