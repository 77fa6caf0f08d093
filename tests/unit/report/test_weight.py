"""Pages of the largest runs: within the size limit, and with a list of what they omit."""

import re
from dataclasses import replace
from functools import cache

import pytest

from factories.page import Page
from factories.suites import made_suites
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Summary
from tlslab.domain.names import SUITES
from tlslab.report import render_html
from tlslab.report.html import HEAVIEST, page_environment
from tlslab.report.numbers import figure_table
from tlslab.report.page.drawn import Drawn
from tlslab.report.page.layout import Layout, layout
from tlslab.report.page.page_parts import published_part
from tlslab.report.page.weight import LEVELS, THRIFTIEST
from tlslab.report.table import exact_text

pytestmark = pytest.mark.slow

SAID = "To keep this page small"

# A multiple of the cells of `suites`: more than any run has had.
COPIES = 4


@cache
def page() -> str:
    return render_html(made_suites())


@cache
def laid_out(level: int) -> Layout:
    return layout(made_suites(), level)


def drawn(level: int) -> list[Drawn]:
    found = laid_out(level)
    parts = [figure for part in (*found.main, *found.details) for figure in part.figures]
    return [*filter(None, [found.picture]), *parts]


def test_a_page_of_all_suites_is_light_enough() -> None:
    assert len(made_suites().cells) > 60
    assert len(made_suites().figures) > 15
    assert len(page().encode()) <= HEAVIEST
    assert SAID in page()


def test_a_page_of_any_number_of_cells_is_light_enough() -> None:
    summary = made_suites()
    cells = tuple(
        replace(cell, key=f"{cell.key},copy={copy}")
        for copy in range(COPIES - 1)
        for cell in summary.cells
    )
    figures = tuple(larger(figure) for figure in summary.figures)
    tables = tuple(replace(table, rows=table.rows * COPIES) for table in summary.tables)
    huge = replace(summary, cells=(*summary.cells, *cells), figures=figures, tables=tables)
    assert summary.answer is not None
    # The picture of all suites is longer than that of the study's classes.
    text = render_html(replace(huge, answer=replace(summary.answer, picture="")))
    assert len(text.encode()) <= HEAVIEST
    assert f"The first 40 of {COPIES * names(summary, summary.answer.figure)}" in text


def larger(figure: Figure) -> Figure:
    """The figure with several copies of each of its names; other figures are unchanged."""
    if not all(isinstance(x, str) for series in figure.series for x in series.x):
        return figure
    series = tuple(
        replace(
            each,
            x=tuple(f"{x} {copy}" for copy in range(COPIES) for x in each.x),
            y=each.y * COPIES,
            low=each.low * COPIES,
            high=each.high * COPIES,
            samples=each.samples * COPIES,
            bounds=each.bounds * COPIES,
            objections=each.objections * COPIES,
        )
        for each in figure.series
    )
    return replace(figure, series=series)


def names(summary: Summary, figure: str) -> int:
    found = next(each for each in summary.figures if each.id == figure)
    return len({x for series in found.series for x in series.x})


@pytest.mark.parametrize("level", range(1, THRIFTIEST + 1))
def test_a_lighter_page_has_all_parts_and_each_with_something_in_it(level: int) -> None:
    whole, found = laid_out(0), laid_out(level)
    assert [part.id for part in found.main] == [part.id for part in whole.main]
    assert [part.id for part in found.details] == [part.id for part in whole.details]
    for part, full in zip(found.details, whole.details, strict=True):
        if full.figures:
            assert part.figures or part.undrawn or part.note


@pytest.mark.parametrize("level", range(THRIFTIEST))
def test_results_and_tables_of_the_analysis_are_whole(level: int) -> None:
    found = laid_out(level)
    shown = {part.id: part.table for part in (*found.main, *found.details) if part.table}
    assert len(shown["results"].rows) == len(made_suites().cells)
    for table in made_suites().tables:
        assert len(shown[f"table-{table.id}"].rows) == len(table.rows)
        assert len(shown[f"table-{table.id}"].columns) == len(table.columns)


@pytest.mark.parametrize("level", range(THRIFTIEST + 1))
def test_a_table_names_below_it_the_rows_and_columns_left_out(level: int) -> None:
    whole, found = laid_out(0), laid_out(level)
    full_parts = (*whole.main, *whole.details)
    for full, part in zip(full_parts, (*found.main, *found.details), strict=True):
        if full.table is None or part.table is None:
            continue
        rows, columns = len(full.table.rows), full.table.columns
        if len(part.table.rows) < rows:
            assert f"all but the first {len(part.table.rows)} of {rows}" in part.note
            assert "summary.json" in part.note
        kept = {column.name for column in part.table.columns}
        for column in columns:
            assert column.name in kept or column.head in part.note


@pytest.mark.parametrize("level", range(THRIFTIEST + 1))
def test_left_out_figures_and_trials_are_named(level: int) -> None:
    whole, found = laid_out(0), laid_out(level)
    shown = {each.figure.id: each for each in drawn(level)}
    undrawn = {title for part in found.details for title in part.undrawn}
    for each in drawn(0):
        lean = shown.get(each.figure.id)
        if lean is None:
            used = next(part for part in found.details if part.id == "use")
            assert each.figure.title in undrawn or "all are in summary.json" in used.note
        elif lean.figure != each.figure:
            assert "summary.json" in lean.figure.caption
    assert whole.left_out == ""
    assert bool(found.left_out) == (not LEVELS[level].hints)


def trials(text: str) -> list[float]:
    return [float(each) for each in text.split()]


@pytest.mark.parametrize("level", range(THRIFTIEST + 1))
def test_the_csv_of_a_figure_has_all_digits_of_the_summary(level: int) -> None:
    seen = 0
    for each in drawn(level):
        lines = exact_text(figure_table(each.figure)).split("\n")
        rows = {line.split("\t")[0]: line.split("\t")[1:] for line in lines[1:]}
        assert {len(row) for row in rows.values()} == {len(lines[0].split("\t")) - 1}
        at = 0
        for series in each.figure.series:
            spread = any(end is not None for end in (*series.low, *series.high))
            for index, x in enumerate(series.x):
                row = rows[x if isinstance(x, str) else repr(x)][at:]
                assert row[0] == digits(series.y[index])
                if spread:
                    assert row[1:3] == [digits(series.low[index]), digits(series.high[index])]
                if any(series.samples):
                    assert trials(row[1 + 3 * spread]) == list(series.samples[index])
                seen += 1
            at += 1 + 3 * spread + any(series.samples)
    # The thriftiest page has the picture alone: five classes.
    assert seen >= 5
    assert seen > 30 or level == THRIFTIEST


def digits(number: float | None) -> str:
    return "" if number is None else repr(number)


def test_a_figure_without_a_table_has_its_numbers_on_the_page() -> None:
    figures = [each for each in drawn(THRIFTIEST - 1) if each.figure.kind == "ranking"]
    macros = page_environment().get_template("parts.html.j2").module
    for each in figures:
        assert not each.listed
        text = str(macros.figure(each))  # type: ignore[attr-defined]
        known = dict(Page(text).attributes)["data-numbers"]
        assert known == exact_text(figure_table(each.figure))
    assert figures


def test_published_ratios_have_the_digits_of_the_summary(full_summary: Summary) -> None:
    part = published_part(full_summary)
    assert part is not None
    assert part.table is not None
    known = {
        (repr(each.ratio), repr(each.low), repr(each.high), repr(each.n))
        for each in full_summary.comparisons
    }
    studied = {repr(each.published.ratio) for each in full_summary.comparisons if each.published}
    ours = [cell.exact for row in part.table.rows for cell in row.cells[2:4] if cell.text]
    assert ours
    assert set(ours) <= known
    assert {row.cells[1].exact[0] for row in part.table.rows} <= studied


@pytest.mark.parametrize("level", range(THRIFTIEST + 1))
def test_iana_s_names_are_on_hover_however_little_a_page_has(level: int) -> None:
    found = laid_out(level)
    results = next(p.table for p in (*found.main, *found.details) if p.id == "results")
    assert results is not None
    suites = [cell for cell in made_suites().cells if not cell.without_tls]
    long = {cell.key: cell.factors["suite"] for cell in suites}
    rows = [row for row in results.rows if row.key in long]
    assert len(rows) >= 40
    assert all(row.cells[0].hint == long[row.key] for row in rows)


def test_sentences_have_iana_s_names_on_hover() -> None:
    answer = made_suites().answer
    assert answer is not None
    said = set(re.findall(r"[\w-]+", answer.sentences[1]))
    known = {suite.openssl: suite.name for suite in SUITES if suite.openssl in said}
    assert known
    head = page().partition('class="second-line')[2].partition("</p>")[0]
    assert all(f'<abbr title="{long}">{name}</abbr>' in head for name, long in known.items())
