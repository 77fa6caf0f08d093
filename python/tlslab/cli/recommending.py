"""The work of `tlslab recommend`: the choice by a run, its explanation, and the configuration."""

import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from shlex import quote

from rich.box import SIMPLE
from rich.table import Table

from tlslab.advice.choice import Recommendation
from tlslab.advice.emit import Offer
from tlslab.advice.policy import policies_named
from tlslab.cli.console import WIDTH, conclude, err, say
from tlslab.cli.ending import EXIT_VERDICT
from tlslab.cli.proof_options import ReadServer
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.recommendation import Aim, RecommendedChoice
from tlslab.domain.wording import counted
from tlslab.lab.results import configuration, recommend
from tlslab.lab.store import RunFolder, to_json
from tlslab.words.recommendation import explanation, front, pareto_table, reason

# The candidates that are listed without --details.
CANDIDATES = 8

_BRIEFLY = " (probabilities: --details)"


def recommended(
    folder: Path,
    server: str,
    aim: Aim,
    policy: Sequence[str],
    file: Path | None,
    as_json: bool,
    day: date,
    details: bool = False,
) -> int:
    """Recommends a configuration for a server, and writes it; returns the exit code.

    `day`: the day by which policies may be old. `details`: all names, however many.

    Raises UsageError, StoreError, CannotRunError.
    """
    policies = policies_named(policy)
    found = recommend(RunFolder.open(folder), aim, policies, server)
    if found is None:
        names = ", ".join(each.title for each in policies)
        return conclude(
            f"nothing in this run may be recommended: {names} objects to all of it, or the "
            "server does none of the rest",
            EXIT_VERDICT,
        )
    offer, about, text = configuration(found, server)
    if text is None:
        raise UsageError(
            f"{about.title} has no setting for what this run compares ({found.field.subject}s)",
            "take a run of " + ("suites" if found.field.subject == "group" else "groups"),
        )
    if file is not None:
        _write(text, file)
    if as_json:
        sys.stdout.write(json.dumps(_as_json(found, offer, text), indent=1) + "\n")
    else:
        for line in explanation(found.choice, found.field.grounds, about, day, details):
            say(line)
        _weighed(found.choice, details)
        if server in list(ReadServer):
            proof = f"tlslab prove --for {server} --baseline YOURS"
            say(f"next: {proof} --candidate {quote(str(folder))}")
    if file is None and not as_json:
        sys.stdout.write(text)
    return conclude(_conclusion(found, about.title, file), 0)


def _write(text: str, file: Path) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise CannotRunError(f"{file}: {error.strerror}", "give another --out") from None


def _weighed(found: RecommendedChoice, details: bool) -> None:
    """Prints the Pareto set and the table of candidates.

    `details`: all of them, with the probabilities.
    """
    if details and (names := front(found)):
        say(f"Pareto set: {', '.join(names)}")
    table = pareto_table(found)
    if table is None:
        return
    drawn = Table(
        title=table.title + ("" if details else _BRIEFLY), title_justify="left", title_style="bold",
        caption=table.caption if details else None, caption_justify="left", caption_style="dim",
        box=SIMPLE, padding=(0, 1, 0, 0), show_edge=details,
    )  # fmt: skip
    for number, head in enumerate(table.columns):
        drawn.add_column(head, justify="right" if number else "left", no_wrap=not number)
    for row in table.rows if details else table.rows[:CANDIDATES]:
        # Below a value stands its probability.
        drawn.add_row(*(str(cell) if details else str(cell).partition("\n")[0] for cell in row))
    err.print(drawn, width=None if err.is_terminal else WIDTH)
    if (others := len(table.rows) - CANDIDATES) > 0 and not details:
        say(f"{counted(others, 'more candidate')}: --details")


def _conclusion(found: Recommendation, title: str, file: Path | None) -> str:
    where = "" if file is None else f" in {file}"
    if not found.trade_offs.decided and found.aim != "security":
        return f"configuration for {title}{where} by the policies alone: the run cannot tell"
    return f"configuration for {title}{where}"


def _as_json(found: Recommendation, offer: Offer, text: str) -> dict[str, object]:
    field = found.field
    return {
        "schema": "tlslab.recommendation/1",
        "aim": found.aim,
        "subject": field.subject,
        "server": field.server,
        "setting": dict(field.setting),
        "policies": [f"{each.title} ({each.date})" for each in field.policies],
        "policies_as_of": {each.title: each.about.as_of for each in field.policies},
        "successors": {
            each.title: each.about.successor for each in field.policies if each.about.successor
        },
        "order": list(found.names),
        "reason": reason(found.choice),
        "verdict": found.trade_offs.verdict,
        "measure": found.trade_offs.measure,
        "prices": [
            {
                "rival": each.rival,
                "name": field.entry(each.cell).name,
                "measure": each.measure,
                "ratio": to_json(each.ratio),
                "verdict": each.comparison.verdict,
                "adjusted_p": each.comparison.adjusted_p,
                "may_differ": each.comparison.may_differ,
                "is_bound": each.is_bound,
            }
            for each in found.prices
        ],
        "trade_offs": to_json(found.trade_offs),
        "left_out": {each.name: each.graded.against for each in field.objected},
        "offer": {
            "versions": list(offer.versions),
            "suites": _names(offer.suites13) + _names(offer.suites12),
            "groups": _names(offer.groups),
            "waiting": _names(offer.waiting),
        },
        "configuration": text,
    }


def _names(items: Sequence[object]) -> list[str]:
    return [str(getattr(each, "name", "")) for each in items]
