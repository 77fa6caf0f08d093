"""A history as one page without network access or scripts: charts are drawn as SVG."""

from collections.abc import Sequence
from itertools import accumulate

from tlslab.domain.estimates import estimate_name
from tlslab.domain.history import CellHistory, History
from tlslab.domain.wording import difference
from tlslab.report import history_words as words
from tlslab.report.history_chart import chart
from tlslab.report.html import page_environment
from tlslab.report.page.assets import asset, policy

# The limit of runs in all charts of series without a change, and the size of a chart's frame in
# runs. A run takes some hundred bytes, so that charts take 200 KB of the 400 KB of a page.
_MOST_RUNS = 2_000
_FRAME = 6


def render_history_html(found: History) -> str:
    """The whole page: changed cells first, the others folded, the first of them with charts."""
    style = asset("charts.css", "report.css", "history.css")
    quiet = words.unchanged(found)
    return (
        page_environment()
        .get_template("history.html.j2")
        .render(
            history=found,
            changed=words.changed_cells(found),
            unchanged=quiet,
            drawn=drawn(quiet),
            many=len({each.history for each in found.cells}) > 1,
            words=words,
            estimate_name=estimate_name,
            chart=chart,
            difference=difference,
            style=style,
            policy=policy([style]),
        )
    )


def drawn(quiet: Sequence[CellHistory]) -> int:
    """The number of series without a change that have a chart, from the first one on."""
    taken = accumulate(len(each.values) + _FRAME for each in quiet)
    return sum(each <= _MOST_RUNS for each in taken)
