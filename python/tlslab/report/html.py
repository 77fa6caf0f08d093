"""The summary as one self-contained page, readable without a network."""

import json
import re
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from tlslab.model.figure import Figure
from tlslab.model.finding import Summary
from tlslab.report import charts, view
from tlslab.report.drawing import colour_of, draw
from tlslab.report.facts import facts, redo_command
from tlslab.report.numbers import figure_grid, table_grid
from tlslab.report.plain import plain

# Sentences and commands of our own may be longer than what a server may say.
_LIMIT = 4000

_ID_LIMIT = 80

_INTERVAL = re.compile(r"\(95 %: [^()]*\)")
_NAME = re.compile(r"\b(P|RSA)-\d+")


def render_html(summary: Summary, plotly_at: str | None = None) -> str:
    """The whole page: styles, scripts and data inside, nothing to be fetched.

    `plotly_at`: where the page is to fetch Plotly's script, so that many pages can share one.
    """
    sections = view.sections(summary)
    # The page draws a section's own figures from its rows.
    own = tuple(each for each in summary.figures if not each.id.startswith(view.OF_SECTIONS))
    summary = replace(summary, figures=own)
    headline = view.headline(summary, sections)
    study, published = view.published(summary)
    return (
        page_environment()
        .get_template("report.html.j2")
        .render(
            summary=summary,
            sections=sections,
            headline=headline,
            lead=_lead(sections),
            study=study,
            published=published,
            warnings=view.warnings(summary),
            left_out=view.left_out(summary),
            facts=facts(summary),
            redo=redo_command(summary),
            reported=[f for f in view.general_findings(summary, sections) if f.text != headline],
            without_result=view.without_result(summary),
            table_grids=[table_grid(table) for table in summary.tables],
            figure_grids=[figure_grid(figure) for figure in summary.figures],
            figure_colours=[[colour_of(f, each) for each in f.series] for f in summary.figures],
            figures=_figures(sections, summary.figures),
            view=view,
            style=_asset("report.css"),
            script=_asset("report.js"),
            plotly=Markup("" if plotly_at else _plotly()),
            plotly_at=plotly_at,
        )
    )


@cache
def page_environment() -> Environment:
    """Templates whose every output is sanitised and escaped."""
    environment = Environment(
        loader=PackageLoader("tlslab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_sanitised,
    )
    environment.filters |= {"softened": _softened, "lines": _lines, "slug": slug}
    return environment


def slug(name: str) -> str:
    """A name as part of an element's id: letters, digits and '-' only."""
    return re.sub(r"[^A-Za-z0-9-]", "-", name)[:_ID_LIMIT]


def _lines(text: str) -> Markup:
    """A text of several lines, each of them sanitised."""
    return Markup("\n").join(plain(line, len(line)) for line in text.split("\n"))


def _softened(text: str) -> Markup:
    """A sentence whose intervals step back a little, and whose names are not broken."""
    escaped = _NAME.sub(r'<span class="nb">\g<0></span>', str(escape(plain(text, _LIMIT))))
    return Markup(_INTERVAL.sub(r'<span class="ci">\g<0></span>', escaped))


def _sanitised(value: Any) -> Any:
    """Every text that a template puts out, except for our own markup."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value, _LIMIT)
    return "" if value is None else value


def _lead(sections: tuple[view.Section, ...]) -> view.Row | None:
    """The cell that the headline speaks of: the first of the first section that is ranked."""
    for section in sections:
        if section.rows and section.rows[0].rank:
            return section.rows[0]
    return None


def _figures(sections: tuple[view.Section, ...], made: tuple[Figure, ...]) -> Markup:
    """All figures by the id of their place, as JSON that cannot end its script element."""
    figures = {f"made-{slug(figure.id)}": draw(figure) for figure in made}
    for section in sections:
        drawn = {
            "rate": charts.rate_bars(section),
            "cost": charts.cost_bars(section),
            "cpu": charts.cpu_panels(section),
        }
        for kind, drawing in drawn.items():
            if drawing is not None:
                figures[f"{section.id}-{kind}"] = drawing
    text = json.dumps(figures, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def _plotly() -> str:
    """Plotly's own script; the end of a script element inside a string of it is broken up."""
    return str(get_plotlyjs()).replace("</script", "<\\/script")


@cache
def _asset(name: str) -> Markup:
    return Markup((resources.files("tlslab.report") / "templates" / name).read_text("utf-8"))
