"""`tlslab targets`: which servers are on this machine, and what can each do?"""

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tlslab.cli.console import conclude, out
from tlslab.cli.options import AS_JSON, SERVERS, argument, complete_target
from tlslab.domain.wording import counted

if TYPE_CHECKING:
    from tlslab.lab.survey import TargetFound

EXAMPLE = "tlslab targets"


def command(
    names: list[str] | None = argument(
        f"Servers to list; all by default: {SERVERS}.",
        metavar="[NAME]...",
        autocompletion=complete_target,
    ),
    as_json: bool = AS_JSON,
) -> int:
    """List the servers that the lab can start here, with what each accepts in a probe."""
    from tlslab.lab.engine import local_pool
    from tlslab.lab.store import to_json
    from tlslab.lab.survey import survey
    from tlslab.servers import MANAGED, find_kind

    kinds = {name: find_kind(name) for name in names or MANAGED}
    found = survey(local_pool(), kinds)
    if as_json:
        sys.stdout.write(json.dumps([to_json(each) for each in found], indent=2) + "\n")
    else:
        out.print(_table(found))
    ready = sum(each.problem is None for each in found)
    return conclude(f"{ready} of {counted(len(found), 'target')} can be measured", 0)


def _table(found: "tuple[TargetFound, ...]") -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for each in found:
        for number, (name, text) in enumerate(_lines(each)):
            # Brackets in a server's words are no markup.
            table.add_row("" if number else each.name, name, Text(text))
    return table


def _lines(found: "TargetFound") -> Iterator[tuple[str, str]]:
    """The lines on a target, each with its heading."""
    if found.software is not None:
        yield "version", f"{found.software} with {found.backend} ({found.program})"
    if found.problem is not None:
        yield "missing" if found.software is None else "problem", found.problem
        yield "remedy", found.remedy or "see the problem above"
        return
    suites = {version: f" with {len(names)} suites" for version, names in found.suites.items()}
    yield "TLS", ", ".join(version + suites.get(version, "") for version in found.versions)
    yield "groups", ", ".join(dict.fromkeys(n for names in found.groups.values() for n in names))
    yield "keys", ", ".join(found.keys)
    yield "HTTP", ", ".join(found.alpn)
    if found.unknown:
        yield "not known", "; ".join(found.unknown)
    roles = ["alone", *(["as front"] if found.front else [])]
    yield "serves", ", ".join([*roles, "behind a front" + ("" if found.behind else " with TLS")])
    yield "takes", ", ".join(("processors", *found.takes))
