"""`tlslab grade`: what do policies say of a server, and which clients connect?"""

import json
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tlslab.cli.asking import (
    Allowed,
    Asked,
    Connections,
    Insecure,
    Place,
    Rate,
    ServerName,
    Timeout,
    ask,
    refuse_failure,
)
from tlslab.cli.console import conclude, out, write_utf8
from tlslab.cli.ending import EXIT_VERDICT
from tlslab.cli.options import AsJson, Authorities, Version
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.grading import GRADING, Grading

if TYPE_CHECKING:
    from tlslab.contract.probe import ProbeRecord

SCHEMA = "tlslab.grade/1"

# The exit code if the offer is not wholly known or a policy does not apply, and nothing known
# objects.
EXIT_CANNOT_TELL = 4


class Format(StrEnum):
    """Forms of the grading."""

    text = "text"
    markdown = "markdown"
    json = "json"


def complete_policy(incomplete: str) -> list[str]:
    """The policies whose names start with this text."""
    return [name for name in GRADING if name.startswith(incomplete)]


def command(
    target: Place,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Policy that decides the exit code; repeatable: {', '.join(GRADING)}. By default "
            "what the policies for every server forbid decides.",
            autocompletion=complete_policy,
        ),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="Format of standard output.")] = (
        Format.text
    ),
    as_json: AsJson = False,
    day: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="DATE",
            help="Day as of which to grade: 2031-01-01; today by default.",
        ),
    ] = None,
    sni: ServerName = None,
    ca: Authorities = None,
    insecure: Insecure = False,
    allow: Allowed = None,
    connections: Connections = None,
    rate: Rate = None,
    timeout: Timeout = None,
    _version: Version = False,
) -> None:
    """Grade what a server offers by ten policies, and simulate which known clients connect."""
    from tlslab.advice.judge import judge
    from tlslab.advice.policy import policy_named

    wanted = tuple(policy_named(name).name for name in policy or ())
    as_of = _day(day)
    asked = Asked(target, sni, ca, insecure, tuple(allow or ()), connections, rate, timeout)
    grading = judge(_offered(asked), as_of)
    _print(grading, Format.json if as_json else format_)
    raise typer.Exit(_conclude(grading, wanted))


def _day(text: str | None) -> date:
    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--as-of {text}: not a date", "write it like 2031-01-01") from None


def _offered(asked: Asked) -> "ProbeRecord":
    from tlslab.contract.probe import ProbeRecord
    from tlslab.lab.store import from_json

    ended = ask(asked, only=None, as_json=True)
    refuse_failure(ended)
    try:
        record = json.loads(ended.stdout)
    except ValueError:
        raise CannotRunError("the engine's record cannot be read") from None
    return from_json(record, ProbeRecord)


def _print(grading: Grading, form: Format) -> None:
    from tlslab.lab.store import to_json
    from tlslab.report.grade import grading_markdown, render_grading

    if form is Format.json:
        typer.echo(json.dumps({"schema": SCHEMA, **to_json(grading)}, allow_nan=False))
    elif form is Format.markdown:
        write_utf8(grading_markdown(grading))
    else:
        out.print(render_grading(grading))


def _conclude(grading: Grading, wanted: tuple[str, ...]) -> int:
    """Prints the reason; returns the exit code: 0, 1, or 4 if objections are not known.

    A server to which no client connects passes no policy.
    """
    reason, code = _by_policies(grading, wanted) if wanted else _by_everyone(grading)
    if code != EXIT_VERDICT and grading.doubt is not None:
        silent = any("gave no answer" in question for question in grading.unanswered)
        remedy = "; grade again, or with a longer --timeout" if silent else ""
        return conclude(f"not known: {grading.doubt}{remedy}", EXIT_CANNOT_TELL)
    if grading.shut_out is not None:
        return conclude(f"no known client connects: {grading.shut_out}; {reason}", EXIT_VERDICT)
    return conclude(reason, code)


def _by_everyone(grading: Grading) -> tuple[str, int]:
    from tlslab.advice.judge import fails_everyone
    from tlslab.words.grade import forbid_words

    failing = fails_everyone(grading)
    if failing:
        return f"something is offered that {forbid_words(failing)}", EXIT_VERDICT
    return "nothing is offered that a policy for every server forbids", 0


def _by_policies(grading: Grading, wanted: tuple[str, ...]) -> tuple[str, int]:
    """The result by the policies that apply; a policy that does not apply is not a pass."""
    from tlslab.words.grade import verdict_words

    known = {source.name: source.title for source in grading.policies}
    said = [name for name in wanted if name in known]
    parts = [f"{known[name]}: {verdict_words(grading, name)}" for name in said]
    silent = [name for name in wanted if name not in known]
    reason = "; ".join([*parts, *(f"{name} does not apply" for name in silent)])
    if not all(grading.verdict(name).passes for name in said):
        return reason, EXIT_VERDICT
    return reason, EXIT_CANNOT_TELL if silent else 0
