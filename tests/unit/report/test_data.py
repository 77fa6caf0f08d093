"""Figures, tables and texts of any summary, on the page and in the terminal."""

import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from plotly import graph_objects
from rich.console import Console

from factories.data import made_figures, with_data
from factories.page import HOSTILE, Page
from tlslab import report
from tlslab.model.finding import Summary
from tlslab.report import render_html, render_text
from tlslab.report.drawing import colour_of, draw, log_ticks
from tlslab.report.numbers import figure_grid, table_grid
from tlslab.store import from_json, to_json

SWEEP, BARS, STACKED, BAND, SCATTER = made_figures()


def terminal(summary: Summary) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_summary_with_all_kinds_of_data_is_read_back_as_it_was(quick_summary: Summary) -> None:
    summary = with_data(quick_summary)
    stored = json.loads(json.dumps(to_json(summary)))
    again = from_json(stored, Summary)
    assert again.figures == summary.figures
    assert again.tables == summary.tables
    assert again.texts == summary.texts


def test_a_sweep_has_two_axes_logarithms_whiskers_and_a_mark() -> None:
    drawn = graph_objects.Figure(draw(SWEEP))
    layout = drawn.layout
    assert (layout.xaxis.type, layout.yaxis.type, layout.yaxis2.type) == ("log", "log", "log")
    assert list(layout.xaxis.ticktext) == ["1", "2", "4", "8", "16", "32"]
    assert [trace.yaxis for trace in drawn.data] == ["y", "y2"]
    assert list(drawn.data[0].error_y.array) == [10, 20, 20, 25, 20, 0]
    assert drawn.data[0].y[-1] is None
    assert layout.shapes[0].x0 == 4
    assert layout.annotations[0].x == pytest.approx(0.60206)
    assert layout.annotations[0].text == "knee"


def test_series_of_one_name_share_a_colour() -> None:
    assert [colour_of(SWEEP, series) for series in SWEEP.series] == ["series-1", "series-1"]
    assert [colour_of(BARS, series) for series in BARS.series] == ["series-1", "series-2"]


def test_bars_over_names_lie_on_their_side_in_their_order() -> None:
    drawn = graph_objects.Figure(draw(BARS))
    assert drawn.layout.barmode == "group"
    assert list(drawn.layout.yaxis.categoryarray) == ["Apache", "nginx"]
    assert [trace.name for trace in drawn.data] == ["other", "JDK 17"]
    assert list(drawn.data[1].error_x.array) == [0.5, 0.5]
    assert graph_objects.Figure(draw(STACKED)).layout.barmode == "stack"


def test_intervals_of_many_points_are_a_band() -> None:
    low, high, line = graph_objects.Figure(draw(BAND)).data
    assert high.fill == "tonexty"
    assert (low.y[0], high.y[0], line.y[0]) == (95, 105, 100)
    assert line.error_y.array is None


@pytest.mark.parametrize(
    ("numbers", "ticks"),
    [
        ([1.0, 2.0, 32.0], [1, 2, 32]),
        ([0.4, 30.0], [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]),
        ([], []),
    ],
)
def test_logarithmic_axes_have_readable_ticks(numbers: list[float], ticks: list[float]) -> None:
    assert log_ticks(numbers) == pytest.approx(ticks)


def test_the_numbers_behind_a_figure_are_all_there() -> None:
    grid = figure_grid(SWEEP)
    assert grid.columns == ("threads", "JDK 17: handshakes/s", "JDK 17: p99, ms")
    assert [place.value.text for place in grid.rows[0]] == ["1", "320", "4.00"]
    assert grid.rows[0][1].value.interval == "310–330"
    assert grid.rows[-1][1].value.text == ""
    assert grid.numbers == (True, True, True)
    assert len(figure_grid(SCATTER).rows) == 3
    assert [row[0].value.text for row in figure_grid(BARS).rows] == ["nginx", "Apache"]


def test_a_table_reports_figures_from_words(quick_summary: Summary) -> None:
    grid = table_grid(with_data(quick_summary).tables[0])
    assert grid.numbers == (False, True, True, False)
    assert grid.rows[0][1].value.interval == "3,390–3,440"
    assert [place.value.text for place in grid.rows[1]] == ["JDK 17", "12.5", "16", "x"]


def test_a_page_without_a_ranking_reads_on_its_own(quick_summary: Summary) -> None:
    page = render_html(with_data(quick_summary))
    text = Page(page).text
    for part in (
        "What does JDK 17 carry?", "JDK 17 carries 3,412", "The knee of JDK 17", "Table of JDK 17",
        "Throughput and p99", "The numbers behind it", "second & third", "JDK 17 ended at once",
        "Each maximum of JDK 17 is searched", "--seed", "Processor",
    ):  # fmt: skip
        assert part in text
    assert "lean client" not in text
    assert 'class="ranking"' not in page
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert found is not None
    figures: dict[str, Any] = json.loads(found[1])
    assert set(figures) == {f"made-{f.id}" for f in made_figures()}
    assert "first JDK 17\n  second" in page


def test_a_ranking_keeps_its_sections_beside_them(quick_summary: Summary) -> None:
    summary = replace(quick_summary, figures=made_figures())
    page = render_html(summary)
    assert 'class="ranking"' in page
    assert 'id="made-sweep"' in page
    assert "lean client" in Page(page).text


def test_the_terminal_has_tables_and_texts_too(quick_summary: Summary) -> None:
    text = terminal(with_data(quick_summary))
    for part in (
        "Table of JDK 17", "3,390–3,440", "  second & third", "threads", "60 points",
        "JDK 17 ended at once", "The knee of JDK 17",
    ):  # fmt: skip
        assert part in text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_words_change_nothing(quick_summary: Summary, hostile: str) -> None:
    attacked = Page(render_html(with_data(quick_summary, hostile)))
    ordinary = Page(render_html(with_data(quick_summary, "ordinary")))
    assert attacked.tags == ordinary.tags
    assert [name for name, _ in attacked.attributes] == [name for name, _ in ordinary.attributes]
    assert "\x1b" not in attacked.text
    assert " ".join(report.plain(hostile).split()) in attacked.text
    assert "\x1b" not in terminal(with_data(quick_summary, hostile))
