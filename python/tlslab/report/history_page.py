"""A history as one page that needs no network and no script: charts are drawn as SVG."""

from importlib import resources

from markupsafe import Markup

from tlslab.model.estimates import estimate_name
from tlslab.model.history import History
from tlslab.model.wording import difference
from tlslab.report import history_words as words
from tlslab.report.history_chart import chart
from tlslab.report.html import page_environment


def render_history_html(found: History) -> str:
    """The whole page: changed cells first, the others folded."""
    template = page_environment().get_template("history.html.j2")
    folder = resources.files("tlslab.report") / "templates"
    styles = [(folder / name).read_text("utf-8") for name in ("report.css", "history.css")]
    return template.render(
        history=found,
        changed=words.changed_cells(found),
        unchanged=words.unchanged(found),
        many=len({each.history for each in found.cells}) > 1,
        words=words,
        estimate_name=estimate_name,
        chart=chart,
        difference=difference,
        style=Markup("\n".join(styles)),
    )
