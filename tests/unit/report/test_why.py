"""The parts of a connection's cost on a page."""

from dataclasses import replace
from functools import cache

import pytest

from factories.page import HOSTILE, Page
from factories.stacks import kept, sampled_run
from factories.worded import summarise
from tlslab.analysis.why.flames import flame
from tlslab.analysis.why.rules import load_rules
from tlslab.domain.finding import Summary
from tlslab.domain.stacks import Flame
from tlslab.report import render_html, render_markdown
from tlslab.report.html import HEAVIEST
from tlslab.report.page.drawn import DrawnFlame
from tlslab.report.svg.flame import draw_flame

pytestmark = pytest.mark.slow


@cache
def summary(hostile: str = "") -> Summary:
    contents = sampled_run(hostile=f";evil`{hostile}" if hostile else "")
    return summarise(contents)


@cache
def real_flames() -> tuple[Flame, ...]:
    return tuple(flame(each, cell, load_rules()) for cell, each in kept().items())


def test_details_have_the_bars_and_the_flame_graphs() -> None:
    text = render_html(summary())
    assert '<section id="why" class="fold">' in text
    assert text.count('class="flame"') == len(summary().flames)
    assert text.count("Widest functions") == len(summary().flames)
    assert "Why: parts of the server" in text


def test_a_page_with_real_flame_graphs_is_light_enough() -> None:
    heavy = replace(summary(), flames=(*real_flames(), *real_flames())[:6])
    text = render_html(heavy)
    assert len(text.encode()) <= HEAVIEST
    drawn = text.count('class="flame"')
    assert 1 <= drawn <= 6
    assert f"Flame graphs of {drawn} of" in text or drawn == len(summary().flames)


def test_a_page_of_eight_cells_is_light_enough() -> None:
    """Real stacks, with as many parts, for each of eight cells."""
    contents = sampled_run(quick=False)
    real = [each.folded for each in kept().values()]
    stacks = tuple(
        replace(each, folded=real[number % len(real)])
        for number, each in enumerate(contents.stacks[:8])
    )
    found = replace(contents, stacks=stacks)
    whole = summarise(found)
    assert whole.why is not None
    assert len(whole.why.cells) == 8
    text = render_html(whole)
    assert len(text.encode()) <= HEAVIEST
    # Flame graphs are omitted first if a page gets too heavy, and the page says so.
    drawn = text.count('class="flame"')
    assert drawn == 8 or f"Flame graphs of {drawn} of 8 cells" in text


@pytest.mark.parametrize("text", HOSTILE)
def test_names_of_functions_are_escaped(text: str) -> None:
    page = Page(render_html(summary(text)))
    assert "img" not in page.tags
    assert not any(name.startswith("on") for name, _ in page.attributes)


def test_the_numbers_of_a_flame_graph_are_its_widest_functions() -> None:
    for each in real_flames():
        rows = DrawnFlame(each, {}).numbers.rows
        shares = [float(row.cells[2].text) for row in rows]
        assert 10 < len(rows) <= 25
        assert shares == sorted(shares, reverse=True)
        assert not any(row.cells[0].text.endswith(": ?") for row in rows)


def test_colours_are_those_of_the_bars() -> None:
    drawn = str(draw_flame(real_flames()[0], {"signature": 1, "kernel: TCP and sockets": 9}))
    assert 'class="c2"' in drawn
    assert 'class="c2 li"' in drawn
    assert 'class="cn"' in drawn


def test_markdown_has_the_parts_as_a_table() -> None:
    text = render_markdown(summary())
    assert "Why: parts of the server's processor time per connection" in text
    assert "key exchange" in text
