"""The terminal's report and ab's blocks."""

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from factories.capacity import made_capacity_run
from factories.primitives import made_primitives
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.domain.finding import Summary
from tlslab.lab.store import from_json, to_json
from tlslab.report import render_ab, render_text

LONG_SUITE = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


def printed(summary: Summary, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_known_limit_stands_below_each_cost() -> None:
    contents = made_run(quick=True)
    environment = replace(contents.environment, primitives=made_primitives())
    text = printed(summarise(replace(contents, environment=environment)))
    assert len(re.findall(r"\d × limit", text)) == 2
    assert "× limit" not in printed(summarise(contents))


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(quick_summary: Summary, width: int) -> None:
    lines = printed(quick_summary, width).splitlines()
    assert max(len(line) for line in lines) <= width
    assert any("3,8" in line for line in lines)
    assert not any("…" in line for line in lines)


def test_long_names_are_folded_and_not_cut(quick_summary: Summary) -> None:
    # Like a group with such a long name; suites have one.
    renamed = json.dumps(to_json(quick_summary)).replace("P-384", LONG_SUITE)
    text = printed(from_json(json.loads(renamed), Summary), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    names = "".join(line[3:].split("  ")[0].strip() for line in text.splitlines())
    assert LONG_SUITE in names


def test_a_hostile_server_cannot_steer_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07[red]x[/red]\u202e"
    contents = made_run(World(software=hostile), quick=True)
    contents = replace(contents, environment=replace(contents.environment, warnings=(hostile,)))
    summary = summarise(contents)
    for text in (printed(summary), render_ab(summary)):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
        assert "[red]x[/red]" in text


def test_unsupported_cells_say_why() -> None:
    summary = summarise(made_run(World(unsupported=frozenset({"X448"})), quick=True))
    for text in (printed(summary), render_ab(summary)):
        assert "the server sent the alert handshake_failure" in " ".join(text.split())


def test_a_table_that_is_too_wide_lies_on_its_side() -> None:
    summary = summarise(made_capacity_run())
    narrow, wide = (printed(summary, width).splitlines() for width in (80, 260))
    assert any("offered/s" in line and "completed/s" in line for line in wide)
    assert not any("offered/s" in line and "completed/s" in line for line in narrow)
    assert any(line.split()[:1] == ["offered/s"] for line in narrow)
