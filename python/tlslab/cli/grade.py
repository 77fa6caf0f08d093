"""`tlslab grade`: what do policies say of a server, and which clients connect?"""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

import typer

from tlslab.cli.asking import HOSTS, PLACE, Asked, as_record, ask
from tlslab.cli.console import conclude, out, write_utf8
from tlslab.cli.ending import EXIT_CANNOT_TELL, EXIT_VERDICT
from tlslab.cli.hosts import Ended, ask_hosts
from tlslab.cli.options import AS_JSON, option
from tlslab.domain.errors import UsageError
from tlslab.domain.grading import GRADING, Grading

SCHEMA = "tlslab.grade/1"


class GradingFormat(StrEnum):
    """Forms of the grading."""

    text = "text"
    markdown = "markdown"
    csv = "csv"
    json = "json"


POLICIES = ", ".join(GRADING)


def complete_policy(incomplete: str) -> list[str]:
    """The policies whose names start with this text."""
    return [name for name in GRADING if name.startswith(incomplete)]


EXAMPLE = "tlslab grade localhost:8443 --policy mozilla-intermediate"


def command(
    *,
    target: str | None = PLACE,
    hosts: Path | None = HOSTS,
    policy: list[str] | None = option(
        f"Policy that decides the exit code; repeatable: {POLICIES}. By default "
        "what the policies for every server forbid decides.",
        metavar="NAME",
        autocompletion=complete_policy,
    ),
    format_: GradingFormat = option(
        "Format of standard output; csv has one line per graded item.",
        "--format",
        default=GradingFormat.text,
    ),
    as_json: bool = AS_JSON,
    day: str | None = option(
        "Day as of which to grade: 2031-01-01; today by default.", "--as-of", metavar="DATE"
    ),
    asked: Asked,
) -> int:
    """Grade what a server offers by ten policies, and simulate which known clients connect."""
    from tlslab.advice.judge import judge
    from tlslab.advice.policy import policy_named

    wanted = tuple(policy_named(name).name for name in policy or ())
    as_of = _day(day)
    form = GradingFormat.json if as_json else format_

    def grade_one(host: str) -> Ended[Grading]:
        grading = judge(as_record(ask(host, asked, only=None, as_json=True)), as_of)
        _print(grading, form)
        return Ended(host, grading, *_verdict(grading, wanted))

    ended, reason, code = ask_hosts(target, hosts, grade_one)
    _print_list(ended, form, hosts is not None)
    return conclude(reason, code)


def _day(text: str | None) -> date:
    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--as-of {text}: not a date", "write it like 2031-01-01") from None


def _print(grading: Grading, form: GradingFormat) -> None:
    """Prints a grading in the forms for people."""
    from tlslab.report.grade import grading_markdown, render_grading

    if form is GradingFormat.markdown:
        write_utf8(grading_markdown(grading))
    elif form is GradingFormat.text:
        out.print(render_grading(grading))


def _print_list(ended: Sequence[Ended[Grading]], form: GradingFormat, is_list: bool) -> None:
    """Prints all gradings in the forms for programs."""
    from tlslab.lab.store import to_json
    from tlslab.report.grade import grading_csv

    if form is GradingFormat.csv:
        write_utf8(grading_csv((each.host, each.found or each.reason) for each in ended))
    elif form is GradingFormat.json:
        gradings = [
            each.failure() if each.found is None else {"schema": SCHEMA, **to_json(each.found)}
            for each in ended
        ]
        typer.echo(json.dumps(gradings if is_list else gradings[0], allow_nan=False))


def _verdict(grading: Grading, wanted: tuple[str, ...]) -> tuple[str, int]:
    """The reason and the exit code: 0, 1, or 4 if objections are not known.

    A server to which no client connects passes no policy.
    """
    reason, code = _by_policies(grading, wanted) if wanted else _by_everyone(grading)
    if code != EXIT_VERDICT and grading.doubt is not None:
        silent = any("gave no answer" in question for question in grading.unanswered)
        remedy = "; grade again, or with a longer --timeout" if silent else ""
        return f"not known: {grading.doubt}{remedy}", EXIT_CANNOT_TELL
    if grading.shut_out is not None:
        return f"no known client connects: {grading.shut_out}; {reason}", EXIT_VERDICT
    return reason, code


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
