"""A run of fewer than five trials: no report of any kind shows an interval."""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from factories.capacity import made_capacity_run
from factories.costs import made_calibration
from factories.proof import made_proof
from factories.run import TEN_BLOCKS, made_run
from factories.worded import summarise
from tlslab.domain.finding import Summary
from tlslab.report import render_csv, render_markdown, render_text
from tlslab.report.few_trials import shown
from tlslab.report.page.layout import layout
from tlslab.report.table import Cell

pytestmark = pytest.mark.slow

FEW: dict[str, Callable[[], Summary]] = {
    "matrix": lambda: summarise(made_run(experiment=replace(TEN_BLOCKS, blocks=4))),
    "capacity": lambda: summarise(made_capacity_run()),
    "costs": lambda: summarise(made_calibration(blocks=4)),
}

# The ranks that are open; they are no interval of a figure.
RANKS = re.compile(r"\d+–\d+")

# Both notations of an interval: with a dash between its ends, and `1.25 (95 %: 1.21 to 1.29)`.
INTERVAL = re.compile(r"\d–\d|\(95 %: ")


def cells(summary: Summary) -> Iterator[Cell]:
    """The texts of all tables of the page."""
    page = layout(summary)
    for part in (*page.main, *page.details):
        if part.table is not None:
            yield from (cell for row in part.table.rows for cell in row.cells)


def text(summary: Summary) -> str:
    console = Console(file=io.StringIO(), width=160, force_terminal=False)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def ranks_left_out(document: str) -> str:
    """Open ranks are written `1–3`: this is no interval of a figure."""
    return re.sub(r"(?m)^\s*\d+–\d+\b|\| \d+–\d+ \||leave open: 1–3", "", document)


@pytest.mark.parametrize("name", FEW)
def test_no_table_of_few_trials_has_an_interval(name: str) -> None:
    summary = FEW[name]()
    # Bend and growth are decided by the ends of their intervals, from three runs on.
    decided = tuple(each for each in summary.findings if each.code not in ("bend", "growth"))
    summary = replace(summary, findings=decided)
    assert summary.answer is not None
    assert "dots only, no interval" in summary.answer.confidence
    assert any(cell.interval for cell in cells(summary))
    bare = [f"{cell.text} {cell.interval}".strip() for cell in cells(shown(summary))]
    assert [words for words in bare if INTERVAL.search(words) and not RANKS.fullmatch(words)] == []
    tables = ranks_left_out(render_markdown(summary))
    assert INTERVAL.findall(tables) == []
    assert INTERVAL.findall(ranks_left_out(text(summary))) == []


def test_heads_in_the_terminal_name_an_interval_only_where_there_is_one() -> None:
    head = re.compile(r"^ *# +95 % +95 % ", re.MULTILINE)
    assert not head.search(text(FEW["matrix"]()))
    assert head.search(text(summarise(made_run(experiment=TEN_BLOCKS))))


@pytest.mark.parametrize("name", FEW)
def test_their_charts_have_dots_alone(name: str) -> None:
    figures = shown(FEW[name]()).figures
    assert figures
    assert not any(end is not None for f in figures for s in f.series for end in (*s.low, *s.high))


@pytest.mark.parametrize("name", FEW)
def test_the_values_stay_and_the_data_keep_their_intervals(name: str) -> None:
    summary = FEW[name]()
    bare = shown(summary)
    for cell, kept in zip(summary.cells, bare.cells, strict=True):
        assert {n: e.value for n, e in cell.estimates.items()} == {
            n: e.value for n, e in kept.estimates.items()
        }
    assert render_csv(summary) != render_csv(bare)


@pytest.mark.parametrize("made", [lambda: summarise(made_run()), made_proof])
def test_other_runs_are_shown_as_they_are(made: Callable[[], Summary]) -> None:
    summary = made()
    assert shown(summary) is summary


def test_a_short_proof_that_names_lost_clients_has_no_interval_either() -> None:
    summary = made_proof()
    assert summary.proof is not None
    assert any(cell.interval for cell in cells(summary))
    figures = tuple(replace(each, n=4) for each in summary.proof.figures)
    few = shown(replace(summary, proof=replace(summary.proof, figures=figures)))
    assert not any(cell.interval for cell in cells(few))
