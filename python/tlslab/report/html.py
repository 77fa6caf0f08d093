"""The summary as one self-contained page: readable without a network, and without JavaScript."""

import base64
import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tlslab.domain.estimates import bounded_by_verdict, unit_shown
from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain
from tlslab.domain.run import machine_words
from tlslab.domain.wording import counted
from tlslab.report.few_trials import shown
from tlslab.report.names import with_hover
from tlslab.report.page.layout import ROWS, layout
from tlslab.report.page.weight import THRIFTIEST
from tlslab.report.table import tile_cell
from tlslab.words.answer import enough_command
from tlslab.words.numbers import INTERVAL

# A larger page loads slowly and is not fit for mail.
HEAVIEST = 400_000

# The levels that are tried one after the other.
_FIRST_LEVELS = (1, 2)

# The project's own sentences and commands may be longer than a server's texts.
_LIMIT = 4000

_ID_LIMIT = 80

_NAME = re.compile(r"\b(P|RSA)-\d+")


def render_html(summary: Summary) -> str:
    """The whole page, with styles, script and drawings included; nothing is fetched.

    A page that would be too heavy leaves more out, by the levels of `page.weight`, and names
    what is missing. At the last level, only unlimited texts (sentences, configurations) can exceed
    HEAVIEST.
    """
    summary = shown(summary)
    page = _rendered(summary, 0)
    if _is_light(page):
        return page
    tried: dict[int, str] = {}

    def fits(thrift: int) -> bool:
        tried[thrift] = _rendered(summary, thrift)
        return _is_light(tried[thrift])

    # Each level is lighter than the one before. Most pages fit from the first or the second one on.
    thrift = next(filter(fits, _FIRST_LEVELS), None)
    if thrift is None:
        left = range(_FIRST_LEVELS[-1] + 1, THRIFTIEST)
        thrift = left.start + bisect_left(left, True, key=fits)
    return tried.get(thrift) or _rendered(summary, thrift)


def _is_light(page: str) -> bool:
    return len(page.encode()) <= HEAVIEST


def _rendered(summary: Summary, thrift: int) -> str:
    style = asset("charts.css", "report.css")
    # The first script marks the page as one with scripts, before anything is drawn.
    scripts = (
        asset("early.js"),
        asset("shared.js", "table.js", "figure.js", "second.js", "report.js"),
    )
    return (
        page_environment()
        .get_template("report.html.j2")
        .render(
            summary=summary,
            page=layout(summary, thrift),
            machine=machine_words(summary.environment),
            rows=ROWS,
            tile_cell=tile_cell,
            unit_shown=unit_shown,
            bounded=" ".join(bounded_by_verdict()),
            enough_command=enough_command,
            minutes=_minutes,
            style=style,
            scripts=scripts,
            policy=policy([style], scripts),
        )
    )


@cache
def asset(*names: str) -> Markup:
    """Files of `templates`, one after another, as the content of an element of the page."""
    folder = resources.files("tlslab.report") / "templates"
    return Markup("\n".join((folder / name).read_text("utf-8").strip() for name in names))


def policy(styles: Iterable[str], scripts: Iterable[str] = ()) -> Markup:
    """The content security policy of a page with these texts inside its elements.

    Nothing is fetched, and only texts with one of the hashes run or style the page (W3C, "Content
    Security Policy Level 3", 2.3.1).
    """
    rules = [
        "default-src 'none'",
        f"style-src {_sources(styles)}",
        f"script-src {_sources(scripts)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return Markup("; ".join(rules))


def _sources(texts: Iterable[str]) -> str:
    hashes = [
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in texts
    ]
    return " ".join(hashes) or "'none'"


@cache
def page_environment() -> Environment:
    """Templates that sanitise and escape all output."""
    environment = Environment(
        loader=PackageLoader("tlslab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_sanitised,
    )
    environment.filters |= {
        "counted": counted,
        "lines": _lines,
        "named": _named,
        "slug": slug,
        "softened": _softened,
    }
    return environment


def slug(name: str) -> str:
    """A name as part of an element's id: letters, digits and '-' only."""
    return re.sub(r"[^A-Za-z0-9-]", "-", name)[:_ID_LIMIT]


def _lines(text: str) -> Markup:
    """A text of several lines, each of them sanitised."""
    return Markup("\n").join(plain(line, len(line)) for line in text.split("\n"))


def _named(text: str) -> Markup:
    """A text with short names of suites, IANA's on hover; names of curves are not broken."""
    named = str(with_hover(plain(text, _LIMIT)))
    return Markup(_NAME.sub(r'<span class="nb">\g<0></span>', named))


def _softened(text: str) -> Markup:
    """A sentence with its intervals in a fainter style."""
    return Markup(INTERVAL.sub(r'<span class="ci">\g<0></span>', str(_named(text))))


def _sanitised(value: Any) -> Any:
    """Sanitises every text that a template outputs, except for the project's own markup."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value, _LIMIT)
    return "" if value is None else value


def _minutes(minutes: float) -> str:
    """A duration in words."""
    if minutes < 90:
        return counted(max(1, round(minutes)), "minute")
    return f"{minutes / 60:.1f} hours"
