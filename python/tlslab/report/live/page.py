"""The page that shows a run in progress: one file, with its data as events."""

import json
from dataclasses import asdict
from functools import cache
from importlib import resources

from markupsafe import Markup

from tlslab.domain.version import VERSION
from tlslab.report.html import page_environment
from tlslab.report.live.hosts_now import Point
from tlslab.report.live.state import Snapshot
from tlslab.report.page.assets import asset, policy


@cache
def _own(*names: str) -> str:
    """Files of this package's `templates`, one after another."""
    folder = resources.files("tlslab.report.live") / "templates"
    return "\n".join((folder / name).read_text("utf-8").strip() for name in names)


@cache
def _style() -> Markup:
    return asset("charts.css", "report.css") + Markup("\n" + _own("live.css"))


@cache
def _script() -> Markup:
    return asset("shared.js") + Markup("\n" + _own("chart.js", "live.js"))


@cache
def content_security_policy() -> str:
    """The page's rights: its own style and script, and events of its own server."""
    return str(policy([_style()], [_script()])) + "; connect-src 'self'; frame-ancestors 'none'"


def render_page(experiment: str) -> str:
    """The page of the run with this name; it contains no text from a server."""
    return (
        page_environment()
        .from_string(_own("live.html.j2"))
        .render(experiment=experiment, version=VERSION, style=_style(), script=_script())
    )


def history_json(points: tuple[Point, ...]) -> str:
    """The past seconds, for a newly opened page."""
    return _dumps([asdict(point) for point in points])


def now_json(snapshot: Snapshot) -> str:
    """One update."""
    return _dumps(asdict(snapshot))


def _dumps(value: object) -> str:
    """JSON on one line, as an event requires."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
