"""Tables, names and layout of a page."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.data import made_figures, with_data
from factories.worded import summarise
from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Figure, Series
from tlslab.domain.finding import Answer, Lacking, Summary
from tlslab.report import render_html
from tlslab.report.dots import axis_line
from tlslab.report.html import page_environment
from tlslab.report.names import long_names, short, with_hover
from tlslab.report.numbers import figure_table
from tlslab.report.page.drawn import Drawn, deployable_of
from tlslab.report.page.layout import layout
from tlslab.report.page.weight import THRIFTIEST
from tlslab.report.svg import draw
from tlslab.report.table import NEVER, Cell, Column, Row, Table, data_table, unit_beside

IANA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
OPENSSL = "ECDHE-RSA-AES128-GCM-SHA256"
BUSY = Estimate(0.25, 0.2, 0.3, 5, "share", "mean")

RANKING = Figure(
    "r", "Ranking", "", "ranking", "suite", "connections/s",
    (Series("connections/s", (IANA, "b", "c"), (3.0, 2.0, 1.0), (2.5, 1.5, 0.5), (3.5, 2.5, 1.5),
            samples=((2.9, 3.1), (2.0,), ()), bounds=(True, False, False),
            objections=("RFC 9325: no", "", "")),),
)  # fmt: skip


def test_columns_reach_as_far_as_there_is_room() -> None:
    number = Column("connections", "connections")
    columns = (Column("name", "name"), *[number] * 14, replace(number, hidden=True))
    cells = (Cell("X25519"), *[Cell("12,345")] * 15)
    fitted = Table("t", "T", columns, (Row(cells),)).fitted.columns
    reach = [column.reach for column in fitted]
    assert reach[0] == 1
    assert reach[:-1] == sorted(reach[:-1])
    assert set(reach) == {1, 2, 3, NEVER}
    assert (fitted[-1].reach, fitted[-1].paper) == (NEVER, False)


@pytest.mark.parametrize(
    ("head", "unit", "shown"),
    [
        ("rate", "1/s", "/s"),
        ("best per s", "1/s", ""),
        ("server µs/connection", "us", ""),
        ("general", "us", "µs"),
        ("p50 ms", "ms", ""),
        ("server busy", "share", "%"),
        ("handshakes' share", "share", "%"),
        ("connections/s at most", "1/s", ""),
        ("times", "ms", "ms"),
    ],
)
def test_units_stand_in_heads_once(head: str, unit: str, shown: str) -> None:
    assert unit_beside(head, {unit}) == shown


def test_suites_have_short_names_with_iana_s_on_hover() -> None:
    assert short(f"TLS 1.2, {IANA}") == f"TLS 1.2, {OPENSSL}"
    assert long_names(f"{IANA} and TLS_AES_128_GCM_SHA256") == IANA
    assert str(with_hover(f"<{IANA}>")) == f'&lt;<abbr title="{IANA}">{OPENSSL}</abbr>&gt;'
    assert str(with_hover(f"{OPENSSL}, P-256")) == f'<abbr title="{IANA}">{OPENSSL}</abbr>, P-256'
    assert str(with_hover("TLS_AES_128_GCM_SHA256")) == "TLS_AES_128_GCM_SHA256"


def test_a_share_is_shown_in_percent_and_kept_as_it_is() -> None:
    table = data_table(DataTable("t", "T", "", ("server", "busy"), (("nginx", BUSY), ("x",))))
    cell = table.rows[0].cells[1]
    assert (cell.text, cell.interval) == ("25.0", "20.0–30.0")
    assert cell.exact == ("0.25", "0.2", "0.3", "5")
    assert table.rows[1].cells[1].text == ""
    assert table.columns[1].unit == "%"


def test_the_numbers_behind_a_ranking_have_trials_bounds_and_objections() -> None:
    table = figure_table(RANKING)
    first = table.rows[0]
    assert first.cells[0].text == OPENSSL
    assert first.cells[0].raw == IANA
    assert first.cells[1].text == "≥ 3.00"
    assert first.cells[1].exact == ("3.0", "2.5", "3.5")
    assert first.cells[1].trials == "2.9 3.1"
    assert first.objector == "RFC 9325"
    assert table.columns[1].trials


def test_a_ranking_can_leave_out_levels_with_objections() -> None:
    found = deployable_of(RANKING)
    assert found is not None
    assert found.series[0].x == ("b", "c")
    assert found.series[0].samples == ((2.0,), ())
    assert deployable_of(made_figures()[0]) is None
    drawn = Drawn(RANKING, "picture")
    assert drawn.objections
    assert {v.classes.split()[0] for v in drawn.variants} == {"levels-all", "levels-deployable"}


def test_a_thrifty_page_keeps_all_parts(full_summary: Summary) -> None:
    rich, lean = layout(full_summary), layout(full_summary, THRIFTIEST)
    assert [part.id for part in rich.details] == [part.id for part in lean.details]
    count = [
        sum(len(figure.variants) for part in each.details for figure in part.figures)
        for each in (rich, lean)
    ]
    assert count[1] < count[0]


def test_a_run_without_an_answer_says_what_would_be_enough(quick_summary: Summary) -> None:
    lacking = Lacking("3 blocks: fewer than 5 carry no sentence.", ("tlslab", "run", "x"), 12.4)
    summary = replace(with_data(quick_summary), answer=Answer("Which?", (), "3 blocks", lacking))
    page = render_html(summary)
    for part in ("Not enough to say", "fewer than 5", "in about 12 minutes", "tlslab run x"):
        assert part in page
    assert 'class="headline">JDK' not in page


def test_an_answer_is_not_said_twice(quick_summary: Summary) -> None:
    summary = with_data(quick_summary)
    answer = Answer("Which?", (summary.findings[0].text,), "", figure="sweep")
    found = layout(replace(summary, answer=answer))
    assert found.picture is not None
    assert found.picture.figure.id == "sweep"
    texts = [finding.text for part in found.details for finding in part.findings]
    assert texts == [summary.findings[1].text]


def test_a_hint_shared_by_most_cells_stands_once_on_the_row() -> None:
    def cells(*hints: str) -> tuple[Cell, ...]:
        return tuple(Cell("1", hint=hint) for hint in hints)

    columns = (Column("cell", "cell"), *(Column("p50", "p50", hint=by) for by in ("", "", "", "s")))
    many = Row(cells("IANA", "m", "m", "m", "s"))
    few = Row(cells("", "m", "m", "other", "s"))
    table = Table("t", "T", columns, (many, few))
    assert [table.usual_hint(row) for row in table.rows] == ["m", ""]
    macros = page_environment().get_template("parts.html.j2").module
    page = ElementTree.fromstring(str(macros.table(table, 0)))  # type: ignore[attr-defined]
    rows = page.findall(".//tbody/tr")
    assert [row.get("title") for row in rows] == ["m", None]
    # A method that differs from the row's is stated in its cell; in the column "s" the head states
    # it, too.
    assert [cell.get("title") for cell in rows[0]] == ["IANA", None, None, None, "s"]
    assert [cell.get("title") for cell in rows[1]] == [None, "m", "m", "other", None]


def test_cells_without_a_result_come_right_after_the_warnings(quick_summary: Summary) -> None:
    found = layout(with_data(quick_summary))
    assert [part.id for part in found.details][:2] == ["warnings", "cells"]


def test_a_page_of_loads_opens_with_what_became_of_them() -> None:
    """Both charts of the first cells, those of the answer's cell before all; then the maxima."""
    worlds = {"nginx": CapacityWorld(alone=700.0), "apache": CapacityWorld(alone=1100.0, seed=3)}
    summary = summarise(made_capacity_run(worlds, made_plan(repetitions=5)))
    assert summary.answer is not None
    assert summary.answer.figure == "achieved-apache"
    found = layout(summary)
    assert found.picture is None
    assert [part.id for part in found.main][:2] == ["opening", "table-maxima"]
    opening = [drawn.figure.id for drawn in found.main[0].figures]
    assert opening == ["achieved-apache", "response-apache", "achieved-nginx", "response-nginx"]
    drawn = [each.figure.id for part in (*found.main, *found.details) for each in part.figures]
    assert sorted(drawn) == sorted(each.id for each in summary.figures)


@pytest.mark.parametrize(("names", "zero"), [(("a",), True), (("a", "b"), False)])
def test_an_axis_of_one_row_begins_at_zero(names: tuple[str, ...], zero: bool) -> None:
    series = Series("s", ("a", "b"), (90.0, 100.0), samples=((85.0,), (99.0,)))
    figure = replace(RANKING, series=(series.only(range(len(names))),))
    assert (" 0 " in axis_line(figure, 80)) == zero
    ticks = ElementTree.fromstring(str(draw(figure, 400))).itertext()
    assert ("0" in list(ticks)) == zero
