"""`tlslab recommend`: one configuration from a run, with its reason and its price."""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table

from tlslab.advice.emit import FORMS, Form, Offer, offer_of
from tlslab.advice.explain import comments, explanation, front, pareto_table, reason
from tlslab.advice.policy import policies_named
from tlslab.advice.recommend import Aim, Recommendation, preference
from tlslab.cli.console import WIDTH, conclude, err, say
from tlslab.cli.ending import EXIT_VERDICT
from tlslab.cli.options import AsJson, Version
from tlslab.lab.recommend import recommend
from tlslab.model.errors import CannotRunError, UsageError
from tlslab.store import RunFolder, to_json


class Server(StrEnum):
    """Whose configurations there are."""

    nginx = "nginx"
    apache = "apache"
    haproxy = "haproxy"
    node = "node"
    caddy = "caddy"
    tomcat = "tomcat"
    jvm = "jvm"
    rwserve = "rwserve"
    domino = "domino"
    openssl = "openssl"


class AimName(StrEnum):
    """What may be the aim."""

    throughput = "throughput"
    latency = "latency"
    security = "security"
    bytes = "bytes"


_AIMS: dict[AimName, Aim] = {
    AimName.throughput: "throughput",
    AimName.latency: "latency",
    AimName.security: "security",
    AimName.bytes: "bytes",
}


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run folder of groups or suites.")
    ],
    server: Annotated[Server, typer.Option("--for", help="Whose configuration to write.")],
    aim: Annotated[
        AimName, typer.Option(help="What is to be best among what no policy objects to.")
    ] = AimName.throughput,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this policy counts; repeatable. By default all."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the configuration there.")
    ] = None,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Recommend a configuration by a run, and write it to standard output.

    Reason, price and the Pareto set go to standard error. What a policy objects to is never
    recommended. Ends with 1 when the run has nothing that may be.
    """
    policies = policies_named(policy or ())
    form = FORMS[server.value]
    found = recommend(RunFolder.open(folder), _AIMS[aim], policies, server.value)
    if found is None:
        names = ", ".join(each.title for each in policies)
        raise typer.Exit(
            conclude(
                f"nothing in this run may be recommended: {names} objects to all of it, or the "
                "server does none of the rest",
                EXIT_VERDICT,
            )
        )
    offer = offer_of(preference(found), policies, server.value)
    text = form.text(offer, comments(found, form, offer))
    if text is None:
        raise UsageError(
            f"{form.title} has no setting for what this run compares ({found.field.subject}s)",
            "take a run of " + ("suites" if found.field.subject == "group" else "groups"),
        )
    if file is not None:
        _write(text, file)
    if as_json:
        sys.stdout.write(json.dumps(_as_json(found, offer, text), indent=1) + "\n")
    else:
        _explain(found, form, offer)
    if file is None and not as_json:
        sys.stdout.write(text)
    raise typer.Exit(conclude(_conclusion(found, form, file), 0))


def _write(text: str, file: Path) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise CannotRunError(f"{file}: {error.strerror}", "give another --out") from None


def _explain(found: Recommendation, form: Form, offer: Offer) -> None:
    for line in explanation(found, form, offer):
        say(line)
    if names := front(found):
        say(f"Pareto set: {', '.join(names)}")
    table = pareto_table(found)
    if table is None:
        return
    drawn = Table(
        title=table.title, caption=table.caption, title_justify="left", caption_justify="left",
        box=SIMPLE, title_style="bold", caption_style="dim", padding=(0, 1, 0, 0),
    )  # fmt: skip
    for number, head in enumerate(table.columns):
        drawn.add_column(head, justify="right" if number else "left", no_wrap=not number)
    for row in table.rows:
        drawn.add_row(*(str(cell) for cell in row))
    err.print(drawn, width=None if err.is_terminal else WIDTH)


def _conclusion(found: Recommendation, form: Form, file: Path | None) -> str:
    where = "" if file is None else f" in {file}"
    if not found.trade_offs.decided and found.aim != "security":
        return f"configuration for {form.title}{where} by the policies alone: the run cannot tell"
    return f"configuration for {form.title}{where}"


def _as_json(found: Recommendation, offer: Offer, text: str) -> dict[str, object]:
    field = found.field
    return {
        "schema": "tlslab.recommendation/1",
        "aim": found.aim,
        "subject": field.subject,
        "server": field.server,
        "setting": dict(field.setting),
        "policies": [f"{each.title} ({each.date})" for each in field.policies],
        "successors": {
            each.title: each.about.successor for each in field.policies if each.about.successor
        },
        "order": list(found.names),
        "reason": reason(found),
        "verdict": found.trade_offs.verdict,
        "measure": found.trade_offs.measure,
        "prices": [
            {
                "rival": each.rival,
                "name": field.entry(each.cell).name,
                "measure": each.measure,
                "ratio": to_json(each.ratio),
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
