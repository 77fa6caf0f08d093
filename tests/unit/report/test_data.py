"""Figures, tables and texts of any summary, on the page and in the terminal."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from factories.data import made_figures, with_data
from factories.page import HOSTILE, Page
from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain as sanitised
from tlslab.lab.store import from_json, to_json
from tlslab.report import render_html, render_text
from tlslab.report.numbers import figure_grid, table_grid

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


def test_the_numbers_behind_a_figure_are_all_there() -> None:
    grid = figure_grid(SWEEP)
    assert grid.columns == ("threads", "JDK 17: handshakes/s", "JDK 17: p99, ms")
    assert [place.value.text for place in grid.rows[0]] == ["1", "320", "4.00"]
    assert grid.rows[0][1].value.interval == "310–330"
    assert grid.rows[-1][1].value.text == ""
    assert grid.numbers == (True, True, True)
    assert len(figure_grid(SCATTER).rows) == 3
    assert [row[0].value.text for row in figure_grid(BARS).rows] == ["nginx", "Apache"]


def test_a_lower_bound_keeps_its_sign() -> None:
    series = replace(BARS.series[0], bounds=(True, False))
    grid = figure_grid(replace(BARS, series=(series,)))
    texts = [row[1].value.text for row in grid.rows]
    assert [text.startswith("≥ ") for text in texts] == [True, False]


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
        "Throughput and p99", "Numbers", "second & third", "JDK 17 ended at once",
        "Each maximum of JDK 17 is searched", "--seed", "Processor",
    ):  # fmt: skip
        assert part in text
    assert "lean client" not in text
    assert 'id="grid-results"' not in page
    for figure in made_figures():
        assert f'id="figure-{figure.id}"' in page
    assert "first JDK 17\n  second" in page


def test_a_ranking_keeps_its_table_beside_them(quick_summary: Summary) -> None:
    summary = replace(quick_summary, figures=made_figures())
    page = render_html(summary)
    assert 'id="grid-results"' in page
    assert 'id="figure-sweep"' in page
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
    assert " ".join(sanitised(hostile).split()) in attacked.text
    assert "\x1b" not in terminal(with_data(quick_summary, hostile))
