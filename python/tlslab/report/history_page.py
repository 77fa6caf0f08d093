"""A history as one page that needs no network and no script: charts are drawn as SVG."""

from tlslab.model.estimates import estimate_name
from tlslab.model.history import History
from tlslab.model.wording import difference
from tlslab.report import history_words as words
from tlslab.report.history_chart import chart
from tlslab.report.html import page_environment
from tlslab.report.page.assets import asset, policy


def render_history_html(found: History) -> str:
    """The whole page: changed cells first, the others folded."""
    style = asset("charts.css", "report.css", "history.css")
    return (
        page_environment()
        .get_template("history.html.j2")
        .render(
            history=found,
            changed=words.changed_cells(found),
            unchanged=words.unchanged(found),
            many=len({each.history for each in found.cells}) > 1,
            words=words,
            estimate_name=estimate_name,
            chart=chart,
            difference=difference,
            style=style,
            policy=policy([style]),
        )
    )
