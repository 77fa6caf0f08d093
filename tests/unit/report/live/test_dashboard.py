"""The Grafana dashboard, the reference and the exporter name the same metrics."""

import json
import re
from pathlib import Path
from typing import Any

from factories.live import Watched, pace, totals
from tlslab.report.live.metrics import RunCollector

DOCS = Path(__file__).parents[4] / "docs"
DASHBOARD: dict[str, Any] = json.loads((DOCS / "grafana" / "tlslab.json").read_text("utf-8"))

_SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_count", "_sum"),
    "info": ("_info",),
}


def exported() -> dict[str, set[str]]:
    """The names of all series, by family."""
    watched = Watched()
    watched.start()
    watched.seconds([pace(1.0, totals(100, 1))])
    families = RunCollector(watched.state).collect()
    return {each.name: {each.name + end for end in _SUFFIXES[each.type]} for each in families}


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_each_expression_asks_for_metrics_that_there_are() -> None:
    known = set().union(*exported().values())
    assert len(expressions()) > 20
    for expression in expressions():
        asked = set(re.findall(r"\btlslab_\w+", expression))
        assert asked
        assert asked <= known, expression


def test_the_dashboard_leaves_no_metric_out() -> None:
    shown = " ".join(expressions())
    lacking = [family for family in exported() if not re.search(rf"\b{family}(_|\b)", shown)]
    assert lacking == []


def test_its_variables_are_defined_and_its_panels_do_not_overlap() -> None:
    defined = {each["name"] for each in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD["panels"])))
    assert used - {"__rate_interval"} <= defined
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    squares = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(squares) == len(set(squares))
    assert max(x for x, _ in squares) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)


def test_the_reference_lists_every_metric_and_no_other() -> None:
    text = (DOCS / "reference" / "metrics.md").read_text("utf-8")
    listed = {
        name
        for row in re.findall(r"^\| (`tlslab_.*?) \|", text, re.MULTILINE)
        for name in re.findall(r"`(tlslab_\w+)`", row)
    }
    ends = {"histogram": "", "counter": "_total", "gauge": "", "info": "_info"}
    watched = Watched()
    watched.start()
    families = list(RunCollector(watched.state).collect())
    assert listed == {family.name + ends[family.type] for family in families}
