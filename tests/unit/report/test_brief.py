"""A few screens in the terminal: what has no room is named, and nothing is lost."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from factories.capacity import made_capacity_run
from factories.run import World, made_run
from tlslab.analysis import capacity, summarise
from tlslab.experiment import load, with_levels
from tlslab.model.finding import Summary
from tlslab.report import render_text
from tlslab.report.brief import Brief, Part
from tlslab.report.text import FIRST, SCREEN, SCREENS

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
    return capacity.summarise(made_capacity_run())


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
        # A title may be folded in the list of what is left out.
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


def test_the_first_part_is_shown_whatever_its_length_and_later_ones_where_there_is_room() -> None:
    parts = [
        Part("first", "5 lines", "a\nb\nc\nd\ne"),
        Part("long", "3 lines", "f\ng\nh"),
        Part("short", "1 line", "i"),
    ]
    text = drawn(Brief(parts, 4, MORE), 80)
    assert text.splitlines()[:5] == ["a", "b", "c", "d", "e"]
    assert "long (3 lines)" in text
    assert "short (1 line)" in text
    assert "g" not in text.split()
    # What is left out takes no room from what comes after it.
    text = drawn(Brief(parts, 7, MORE), 80)
    assert text.splitlines()[:6] == ["a", "b", "c", "d", "e", "i"]
    assert "short (1 line)" not in text
    assert drawn(Brief(parts, 4), 80).split() == list("abcdefghi")
