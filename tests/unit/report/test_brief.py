"""A few screens in the terminal: parts without room are named, and nothing is lost."""

import io
from dataclasses import replace

import pytest
from rich.console import Console, Group, RenderableType

from factories.capacity import made_capacity_run
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Note, Summary
from tlslab.experiment import load, with_levels
from tlslab.report import render_text, terminal_tables
from tlslab.report.brief import Brief, Part
from tlslab.report.numbers import Grid, Place
from tlslab.report.text import CAUTIONS, DOTS, FIRST, HOSTS, PICTURE, SCREEN, SCREENS
from tlslab.report.view import Value
from tlslab.words.cautions import warnings

pytestmark = pytest.mark.slow

MORE = ("tlslab", "report", "runs/x", "--details")
COMMAND = " ".join(MORE)


def printed(summary: Summary, more: tuple[str, ...], width: int) -> str:
    return drawn(render_text(summary, more), width)


def drawn(shown: object, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def of_capacity() -> Summary:
    return summarise(made_capacity_run())


@pytest.mark.parametrize("width", [80, 130])
def test_a_long_report_is_cut_to_screens_and_names_what_it_leaves_out(
    of_capacity: Summary, width: int
) -> None:
    whole, brief = printed(of_capacity, (), width), printed(of_capacity, MORE, width)
    assert len(brief.splitlines()) < len(whole.splitlines())
    shown, _, named = brief.partition(f"Not shown here, but printed by {COMMAND}")
    assert named
    assert "Not shown here" not in whole
    for each in of_capacity.tables:
        # A title may be folded in the list of omitted parts.
        assert each.title in shown or each.title in " ".join(named.split())
        assert each.title in " ".join(whole.split())


def test_tables_take_their_screens_and_no_more(of_capacity: Summary) -> None:
    text = printed(of_capacity, MORE, 100)
    head, _, rest = text.partition("Not shown here")
    tables = head.partition(of_capacity.tables[0].title)[2]
    assert len(tables.splitlines()) <= SCREENS
    assert "Details" in rest


def test_a_short_report_is_whole(quick_summary: Summary) -> None:
    assert printed(quick_summary, MORE, 130) == printed(quick_summary, (), 130)


def test_of_many_cells_of_a_setting_the_best_are_shown_and_the_rest_counted() -> None:
    suites = load("suites", quick=False)
    levels = next(factor.levels for factor in suites.factors if factor.name == "suite")
    kept = {"suite": levels, "dh_bits": ("2048",), "http": ("1.1",)}
    experiment = replace(with_levels(suites, kept), blocks=2)
    many = summarise(made_run(World(target="reference"), experiment=experiment))
    count = len(many.cells)
    assert count > FIRST
    text = printed(many, MORE, 130)
    assert f"the first {FIRST} of {count} cells" in text
    assert f"the first {FIRST} of " not in printed(many, (), 130)
    assert len(text.splitlines()) < 2 * (SCREENS + SCREEN)


def listed(title: str, count: int) -> Part:
    """A list of this many lines, which may be cut."""

    def lines(first: int | None = None, *rest: RenderableType) -> Group:
        return Group(*(f"{title} {number}" for number in range(count)[:first]), *rest)

    return Part(title, f"{count} lines", lines(), count, lines)


def test_the_first_part_is_cut_to_its_room_and_names_the_command_that_prints_all() -> None:
    parts = [listed("row", 30), Part("short", "1 line", "i")]
    text = drawn(Brief(parts, 10, MORE), 100)
    assert text.splitlines()[:9] == [f"row {number}" for number in range(9)]
    assert text.splitlines()[9] == f"  the first 9 of 30 lines; all are printed by {COMMAND}"
    assert "short (1 line)" in text
    assert "row 9" not in text
    assert drawn(Brief(parts, 10), 100).splitlines()[29:] == ["row 29", "i"]
    assert drawn(Brief([listed("row", 10)], 10, MORE), 100).splitlines()[9] == "row 9"


def test_a_part_that_cannot_be_cut_is_named_and_takes_no_room() -> None:
    parts = [
        Part("long", "5 lines", "a\nb\nc\nd\ne"),
        Part("three", "3 lines", "f\ng\nh"),
        Part("short", "1 line", "i"),
    ]
    text = drawn(Brief(parts, 4, MORE), 80)
    assert text.splitlines()[:4] == ["f", "g", "h", "i"]
    assert "long (5 lines)" in text
    assert "short (1 line)" not in text
    assert drawn(Brief(parts, 4), 80).split() == list("abcdefghi")


def test_a_table_of_many_rows_that_is_low_on_its_side_has_room() -> None:
    """Thirty rows of long headings stand as columns, in fewer lines than the screen has."""
    heads = tuple(f"{number}: {8 * 'long '}" for number in range(5))
    one = Place(Value("1"), True)
    cells = tuple((Place(Value(f"{n}"), False), *5 * (one,)) for n in range(30))
    table = terminal_tables.grid_part("low", "", Grid(("name", *heads), cells))
    text = drawn(Brief([Part("first", "1 line", "a"), table], 25, MORE), 200)
    assert "Not shown here" not in text
    assert len(text.splitlines()) <= 25
    assert table.lines == 5


def test_of_many_parts_without_room_the_first_are_named_and_the_rest_counted() -> None:
    parts = [Part(f"part {number}", "2 lines", "x\ny") for number in range(60)]
    text = drawn(Brief(parts, 2, MORE), 80)
    assert "part 24 (2 lines)" in text
    assert "part 25 (2 lines)" not in text
    assert "and 35 more parts" in text


@pytest.mark.parametrize("width", [80, 130])
def test_a_first_table_of_many_rows_is_cut_to_its_screens(of_capacity: Summary, width: int) -> None:
    first, *others = of_capacity.tables
    rows = tuple((f"server-{n:03}", *row[1:]) for n, row in enumerate(first.rows * 50))
    long = replace(of_capacity, tables=(replace(first, rows=rows), *others))
    text = printed(long, MORE, width)
    tables = text.partition("\nThe maximum")[2].partition("Not shown here")[0]
    assert 0 < len(tables.splitlines()) <= SCREENS
    assert f" of {len(rows)} rows; all are printed by {COMMAND}" in unfolded(text)
    assert "server-000" in text
    assert "server-199" not in text
    assert "server-199" in printed(long, (), width)


@pytest.mark.parametrize("width", [80, 130])
def test_of_many_warnings_the_gravest_are_printed_and_the_rest_counted(
    quick_summary: Summary, width: int
) -> None:
    many = tuple(f"something that matters, number {number}." for number in range(60))
    where = replace(quick_summary.environment, warnings=many)
    summary = replace(quick_summary, environment=where)
    text = printed(summary, MORE, width)
    shown = [each for each in many if each in text]
    assert shown == list(many[: len(shown)])
    assert 0 < len(shown) < CAUTIONS
    count = len(warnings(summary))
    assert f"the first {len(shown)} of {count} warnings; all are printed by" in unfolded(text)
    assert all(each in printed(summary, (), width) for each in many)


def test_of_a_long_ranking_the_first_lines_of_dots_are_printed(full_summary: Summary) -> None:
    assert full_summary.answer is not None
    times, wanted = 10, full_summary.answer.figure

    def longer(figure: Figure) -> Figure:
        (series,) = figure.series
        repeated = {
            name: getattr(series, name) * times
            for name in ("y", "low", "high", "samples", "bounds", "objections")
        }
        names = tuple(f"{name} {number}" for number in range(times) for name in series.x)
        return replace(figure, series=(replace(series, x=names, **repeated),))

    figures = [longer(each) if each.id == wanted else each for each in full_summary.figures]
    summary = replace(full_summary, figures=tuple(figures))
    text, whole = printed(summary, MORE, 100), printed(summary, (), 100)
    assert f"the first {DOTS} of {6 * times} cells; all are printed by {COMMAND}" in unfolded(text)
    # Each line has a mark, and so has the legend of the marks.
    assert (text.count("●"), whole.count("●")) == (DOTS + 1, 6 * times + 1)


def test_a_report_of_everything_is_still_a_few_screens(of_capacity: Summary) -> None:
    first, *others = of_capacity.tables
    cell = replace(of_capacity.cells[0], verdict="failed", reasons=(Note("failed", "it died"),))
    dead = tuple(replace(cell, key=f"{n}", factors={"server": f"{n}"}) for n in range(300))
    many = tuple(f"something that matters, number {number}." for number in range(300))
    summary = replace(
        of_capacity,
        tables=(replace(first, rows=first.rows * 100), *others * 20),
        cells=(*of_capacity.cells, *dead),
        environment=replace(of_capacity.environment, warnings=many),
    )
    most = PICTURE + SCREENS + CAUTIONS + SCREEN + HOSTS
    for width in (80, 130):
        assert len(printed(summary, (), width).splitlines()) > 1000
        # In addition to these: question, answer, headings, and the names in two lists.
        assert len(printed(summary, MORE, width).splitlines()) < most + 100


def unfolded(text: str) -> str:
    """A text without line ends, and without the backslashes of folded commands."""
    return " ".join(text.replace("\\\n", " ").split())
