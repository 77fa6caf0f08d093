"""Question, answer, confidence and ranking come first: in the terminal, in Markdown; CSV."""

import csv
import html
import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from factories.costs import made_calibration
from factories.pages import SUMMARIES
from factories.run import SERVER_US, TEN_BLOCKS, World, made_run
from factories.saturated import saturated
from factories.worded import overlay, summarise
from tlslab.analysis.overlay import Side
from tlslab.domain.finding import Summary
from tlslab.experiment import with_levels
from tlslab.lab.store import to_json
from tlslab.report import render_csv, render_html, render_markdown, render_text
from tlslab.report.dots import axis_line, dot_lines
from tlslab.words.load import load_facts

pytestmark = pytest.mark.slow

LEVELS = {"tls": ("1.3",), "key": ("ecdsa-p256",)}
# Pages of figures and tables, with the answer of another run.
MADE_UP = ("other", "figures")
HOSTILE = "a|b`c @all https://x.example [x](y) <img src=x>\x1b[31m\nnext"


def run(blocks: int = 10, **world: object) -> Summary:
    experiment = replace(with_levels(TEN_BLOCKS, LEVELS), blocks=blocks)
    return summarise(made_run(World(**world), experiment=experiment))  # type: ignore[arg-type]


@pytest.fixture(name="bounded", scope="module")
def _bounded() -> Summary:
    return run(change=saturated({"X25519"}))


def printed(summary: Summary, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 112, 160])
def test_the_terminal_opens_with_the_answer_and_fits(bounded: Summary, width: int) -> None:
    lines = printed(bounded, width)
    assert lines[0] == "Which key-exchange group is fastest here?"
    assert lines[2].startswith("X25519 is the fastest key-exchange group: ≥ 3,8")
    assert max(cell_len(line) for line in lines) <= width
    dots = [line for line in lines if "●" in line and line.startswith("  ")]
    assert [line.split()[0] for line in dots[:7]] == [
        "X25519", "P-256", "X25519MLKEM768", "SecP256r1MLKEM768", "X448", "P-384", "P-521",
    ]  # fmt: skip
    text = "\n".join(lines)
    order = (
        "Which",
        "is the fastest",
        "10 blocks",
        "●",
        "client µs",
        "\nDetails\n",
        "\nWarnings\n",
    )
    places = [text.find(each) for each in order]
    assert places == sorted(places)
    assert -1 not in places


def test_nothing_is_said_of_few_blocks_but_what_is_enough() -> None:
    lines = printed(run(blocks=4), 100)
    assert lines[2] == "Not enough to say. 4 blocks: fewer than 5 carry no sentence."
    assert lines[3] == "enough: tlslab run groups --target nginx --blocks 5"
    assert "4 blocks: dots only, no interval" in lines
    text = " ".join(lines)
    assert "fastest key-exchange" not in text
    assert "carries" not in text


def test_a_row_has_its_trials_its_mean_and_its_bound(bounded: Summary) -> None:
    figure = next(each for each in bounded.figures if each.id == "setting-1-rate")
    for width in (60, 80, 160):
        rows = dot_lines(figure, width)
        assert all(cell_len(line) <= width for row in rows for line in row.text.split("\n"))
        assert cell_len(axis_line(figure, width)) <= width
        assert rows[0].value.strip().startswith("≥ 3,8")
        assert "●" in rows[0].axis
        assert any("·" in row.axis or "─" in row.axis for row in rows)


def test_an_objected_cell_is_marked(bounded: Summary) -> None:
    figure = next(each for each in bounded.figures if each.id == "setting-1-rate")
    series = replace(figure.series[0], objections=("broken", *[""] * 6))
    rows = dot_lines(replace(figure, series=(series,)), 80)
    assert [row.objected for row in rows] == [True, *[False] * 6]
    assert rows[0].name.startswith("✗ X25519")


def test_markdown_has_the_same_structure(bounded: Summary) -> None:
    text = render_markdown(bounded)
    assert text.startswith(
        "## Which key-exchange group is fastest here?\n\n**X25519 is the fastest"
    )
    order = ("**X25519", "- New connections/s: ≥ 3,8", "10 blocks", "```text", "| X25519 |",
             "<details>", "#### Warnings", "Again:", "</details>")  # fmt: skip
    places = [text.find(each) for each in order]
    assert places == sorted(places)
    assert -1 not in places


def test_markdown_of_a_hostile_server_is_text(bounded: Summary) -> None:
    environment = replace(bounded.environment, warnings=(HOSTILE,))
    text = render_markdown(replace(bounded, environment=environment))
    line = next(line for line in text.splitlines() if "a\\|b" in line)
    assert "@" not in line
    assert "://" not in line
    assert "\\<img" in line
    assert "\\[x\\](y)" in line
    assert "\x1b" not in text


def test_csv_has_the_numbers_of_the_summary(bounded: Summary) -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(bounded))))
    cells = {cell["key"]: cell for cell in to_json(bounded)["cells"]}
    assert len(rows) == sum(len(cell["estimates"]) for cell in cells.values())
    for row in rows:
        found = cells[row["cell"]]["estimates"][row["estimate"]]
        for name in ("value", "low", "high", "n"):
            assert (float(row[name]) if row[name] else None) == found[name]
        assert row["unit"] == found["unit"]
    bounds = {row["estimate"] for row in rows if row["lower_bound"] == "yes"}
    assert "connections_per_s" in bounds
    assert not any(row["group"] != "X25519" for row in rows if row["lower_bound"] == "yes")


def test_csv_gives_a_spreadsheet_no_formula(bounded: Summary) -> None:
    cell = replace(bounded.cells[0], factors={**bounded.cells[0].factors, "key": '=cmd|"/c"!A1'})
    text = render_csv(replace(bounded, cells=(cell,)))
    assert all(row["key"].startswith("'=") for row in csv.DictReader(io.StringIO(text)))


def test_a_comparison_says_its_own_sentence_first_and_nothing_twice() -> None:
    slower = {**SERVER_US, "P-384": SERVER_US["P-384"] * 1.3}
    summary = overlay(Side("before", run()), Side("after", run(server_us=slower, seed=2)))
    lines = printed(summary, 120)
    assert lines[0] == "Does after differ from before?"
    assert re.match(r"\d+ of \d+ ratios differ: ", lines[2])
    assert "P-384" in lines[2]
    text = "\n".join(lines)
    assert "connections_per_s" not in text
    assert "requests/s" not in text
    assert text.count("Absolute rates depend on") == 1
    assert render_csv(summary).startswith("baseline,candidate,estimate,words,ratio")


@pytest.mark.parametrize("name", [name for name in SUMMARIES if name not in MADE_UP])
def test_an_answer_of_any_kind_is_two_sentences_and_five_tiles_at_most(name: str) -> None:
    summary = SUMMARIES[name]()
    answer = summary.answer
    assert answer is not None
    assert len(answer.sentences) <= 2
    assert all(each.endswith(".") for each in answer.sentences)
    assert len(answer.tiles) in (0, 3, 4, 5)
    assert bool(answer.sentences) == (answer.lacking is None)
    assert answer.lacking is None or answer.tiles == ()
    assert answer.figure in {"", *(figure.id for figure in summary.figures)}


LOADS: dict[str, dict[str, Any]] = {
    "Load: connections at once: 16; requests each: 1; response: 4,788 bytes; HTTP 1.1; "
    "resumption: none.": {},
    "Load: connections at once: 16; requests each: 4; response: 4,788 bytes; HTTP 2; "
    "streams: 8 at once (HTTP/2); resumption: 60 % of connections, by psk.": {
        "http": "2", "streams": 8, "requests_per_connection": 4, "resume": "psk",
        "resume_ratio": 0.6,
    },
}  # fmt: skip


@pytest.mark.parametrize("said", LOADS)
def test_each_report_says_what_a_connection_carries(said: str) -> None:
    experiment = replace(TEN_BLOCKS, workload=replace(TEN_BLOCKS.workload, **LOADS[said]))
    summary = summarise(made_run(experiment=with_levels(experiment, LEVELS)))
    page = re.sub(r"<[^>]+>", "", render_html(summary))
    for text in (" ".join(printed(summary, 200)), render_markdown(summary), page):
        assert said in " ".join(html.unescape(text).replace("\\", "").split())


def test_a_load_that_cells_differ_in_is_said_to_be_theirs() -> None:
    known = dict(load_facts(summarise(made_calibration(quick=True))))
    assert known["Requests on each connection"] == "1, 16 (by cell)"
    assert known["Resumption"] == "0 %, 100 % of connections, by psk (by cell)"
    assert known["Document"] == "1,024, 262,144 bytes (by cell)"
