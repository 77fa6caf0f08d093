"""A history's page and text: complete, self-contained, and safe with hostile run folders."""

import csv
import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from factories.history import made_runs
from factories.page import HOSTILE, Page
from tlslab.analysis.history import Run, history
from tlslab.domain.finding import Summary
from tlslab.domain.history import History
from tlslab.report import (
    render_history_csv,
    render_history_html,
    render_history_markdown,
    render_history_text,
    render_html,
)
from tlslab.report.history_page import HEIGHT, WIDTH, chart
from tlslab.report.html import HEAVIEST
from tlslab.words.history import could_have_found, headline, loads_words, quiet, with_loads


@pytest.fixture(name="found", scope="module")
def _found() -> History:
    facts = [{"tlslab": "0.1.0"}] * 8 + [{"tlslab": "0.2.0"}] * 8
    runs = made_runs({"X25519": [1.0] * 8 + [1.2] * 8}, facts=facts)
    return with_loads(history(runs), {run.name: run.summary for run in runs})


def text_of(found: History, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(render_history_text(found))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_changed_cells_come_first_and_the_others_are_folded(found: History) -> None:
    page = render_history_html(found)
    parsed = Page(page)
    assert parsed.tags.count("svg") == len(found.cells) > 4
    assert page.index("1 of 2 cells changed") < page.index("<svg") < page.index("<details>")
    assert parsed.tags.count("details") == len(found.cells) - 2
    assert "in force at the newest run" in parsed.text
    assert "0.1.0 → 0.2.0" in parsed.text


def test_the_page_fetches_nothing_and_has_no_script(found: History) -> None:
    page = render_history_html(found)
    parsed = Page(page)
    assert not {name for name, _ in parsed.attributes} & {"src", "action", "style"}
    assert all(value.startswith("#") for name, value in parsed.attributes if name == "href")
    assert "unsafe" not in page
    assert not set(parsed.tags) & {"script", "link", "iframe", "img", "object", "embed", "base"}
    assert "default-src 'none'" in page
    assert "url(" not in page


def test_the_page_is_built_as_that_of_a_run_is(found: History, quick_summary: Summary) -> None:
    """The same head, landmarks and policy; on a page without a script the policy allows none."""
    parts = ("class", "id", "name", "http-equiv", "charset", "lang")
    frame = {
        "page", "brand", "contents", "answer", "skip", "viewport", "color-scheme",
        "referrer", "Content-Security-Policy", "utf-8", "en",
    }  # fmt: skip
    page, other = Page(render_history_html(found)), Page(render_html(quick_summary))
    for each in (page, other):
        assert frame <= {value for name, value in each.attributes if name in parts}
        assert {"header", "nav", "main", "footer", "title"} <= set(each.tags)
        ids = {value for name, value in each.attributes if name == "id"}
        links = {value for name, value in each.attributes if name == "href"}
        assert {link.removeprefix("#") for link in links} <= ids
    rules = [
        dict(rule.split(" ", 1) for rule in value.split("; "))
        for each in (page, other)
        for name, value in each.attributes
        if name == "content" and value.startswith("default-src")
    ]
    assert [sorted(each) for each in rules[1:]] == [sorted(rules[0])]
    assert rules[0]["script-src"] == "'none'"
    assert all(each["default-src"] == "'none'" for each in rules)


def test_a_change_without_an_interval_is_not_said_to_be_one() -> None:
    found = history(made_runs({"X25519": [1.0] * 20 + [1.3]}))
    assert {change.verdict for each in found.cells for change in each.changes} == {"cannot_tell"}
    said = " ".join(text_of(found).split())
    words = "1 of 2 cells may have changed (cannot tell yet): TLS 1.3, ECDSA P-256, X25519:"
    assert said.startswith(words)


def test_an_open_change_after_an_established_one_is_named() -> None:
    found = history(made_runs({"X25519": [1.0] * 10 + [1.2] * 10 + [1.5]}))
    (series, *_) = [each for each in found.cells if each.changes]
    assert [change.verdict for change in series.changes] == ["slower", "cannot_tell"]
    said = " ".join(text_of(found).split())
    assert said.startswith("1 of 2 cells changed: ")
    assert "from run-10 on, perhaps with another since." in said


def test_a_series_without_a_change_names_the_step_it_would_show() -> None:
    found = history(made_runs({"X25519": [1.0] * 16}))
    text = render_history_markdown(found)
    assert "**No change was found in 2 cells" in text
    said = text.count("in the middle would have been found nine times of ten")
    assert said == len(found.cells) > 2


def test_csv_has_every_value_with_its_level(found: History) -> None:
    rows = list(csv.DictReader(io.StringIO(render_history_csv(found))))
    assert len(rows) == sum(len(series.values) for series in found.cells)
    series = next(each for each in found.cells if each.changes)
    of = [r for r in rows if (r["cell"], r["estimate"]) == (series.label, series.estimate)]
    assert tuple(float(row["value"]) for row in of) == series.values
    assert [row["run"] for row in of if row["changed"] == "yes"] == [series.changes[0].after]
    assert {float(row["level"]) for row in of} == {level.value for level in series.levels}


def test_markdown_has_the_answer_each_change_and_the_runs(found: History) -> None:
    text = render_history_markdown(found)
    assert text.startswith("## History of 16 runs\n\n**1 of 2 cells changed: ")
    for title in ("### TLS 1.3, ", "### Without a change", "### Runs, oldest first"):
        assert title in text
    changes = [change for series in found.cells for change in series.changes]
    assert text.count("in force at the newest run") == len(changes) > 0
    between = {(change.before, change.after) for change in changes}
    assert text.count("tlslab 0.1.0 -> 0.2.0".replace(">", "\\>")) == len(between)


LOAD = (
    "Load: connections at once: 16; requests each: 1; response: 4,788 bytes; HTTP 1.1; "
    "resumption: none."
)


def test_the_head_says_what_the_connections_carried(found: History) -> None:
    """If the runs differ in it, how many loads there are, and the newest."""
    assert {run.load for run in found.runs} == {LOAD}
    texts = (text_of(found), Page(render_history_html(found)).text, render_history_markdown(found))
    assert all(LOAD in " ".join(text.split()) for text in texts)
    first = replace(found.runs[0], load="Load: another.")
    said = loads_words(replace(found, runs=(first, *found.runs[1:])))
    assert said == f"2 loads; of the newest run: {LOAD.removeprefix('Load: ')}"


@pytest.mark.parametrize("width", [40, 80])
def test_lines_fold_at_any_width(found: History, width: int) -> None:
    assert all(len(line) <= width for line in text_of(found, width).splitlines())


def test_hostile_folders_are_escaped() -> None:
    bad = "".join(HOSTILE)
    runs = made_runs(
        {"X25519": [1.0] * 8 + [1.2] * 8},
        facts=[{"tlslab": bad + "1"}] * 8 + [{"tlslab": bad + "2", "machine": {bad: bad}}] * 8,
    )
    hostile = [
        Run(
            f"{bad}{number}",
            replace(run.summary, experiment=replace(run.summary.experiment, target=bad, name=bad)),
        )
        for number, run in enumerate(runs)
    ]
    found = history(hostile, across_machines=True)
    parsed = Page(render_history_html(found))
    assert not set(parsed.tags) & {"script", "img"}
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert "\x1b" not in parsed.text
    assert "\u202e" not in parsed.text
    markdown = render_history_markdown(found)
    assert not re.search(r"\x1b|\u202e|(?<!\\)<(script|img|svg)", markdown)
    assert "\x1b" not in text_of(found)


def test_charts_stay_within_their_frame(found: History) -> None:
    for series in found.cells:
        drawn = chart(found, series)
        assert len(drawn.points) == 16
        assert all(0 <= p.x <= WIDTH and 0 <= p.y <= HEIGHT for p in drawn.points)
        assert [p.x for p in drawn.points] == sorted(p.x for p in drawn.points)


def test_equal_values_are_drawn_in_the_middle(found: History) -> None:
    series = replace(found.cells[0], values=(7.0,) * 16)
    drawn = chart(found, series)
    assert len(drawn.ticks) == 1
    assert {p.y for p in drawn.points} == {drawn.ticks[0].y}


def test_no_runs_of_use_are_said_to_be_so() -> None:
    runs = made_runs({"X25519": [1.0] * 3})
    bare = [Run(run.name, replace(run.summary, cells=())) for run in runs]
    found = history(bare)
    assert "No cell has a usable value in any of the runs." in text_of(found)
    assert "No cell has a usable value" in Page(render_history_html(found)).text


def test_a_page_of_many_series_stays_light(found: History) -> None:
    """The first changes have charts; the others are lines, and a sentence states this."""
    unchanged = [each for each in found.cells if not each.changes]
    many = [replace(unchanged[0], cell=f"{n}", label=f"cell {n}") for n in range(400)]
    page = render_history_html(replace(found, cells=tuple(many)))
    assert len(page.encode()) <= HEAVIEST
    parsed = Page(page)
    charts = parsed.tags.count("svg")
    assert 50 < charts < 200
    assert parsed.text.count("a lasting step of") == 400
    assert "Without a chart, to keep this page small" in parsed.text
    assert "Without a chart" not in Page(render_history_html(found)).text


def test_a_step_that_does_not_count_is_not_promised(found: History) -> None:
    """With equal values any step would be found; one below the smallest that counts is none."""
    equal = next(each for each in found.cells if each.estimate == "wire_bytes_per_handshake")
    assert equal.findable == pytest.approx(0, abs=1e-9)
    words = "a lasting step of 1 % in the middle would have been found nine times of ten"
    assert quiet(found, equal) == words
    assert could_have_found(found).startswith("A lasting step of 1 % to ")


def test_the_headline_names_what_is_slower_first(found: History) -> None:
    slow = next(each for each in found.cells if each.changes)
    more = replace(
        slow,
        estimate="server_memory_bytes",
        changes=tuple(replace(each, verdict="more") for each in slow.changes),
    )
    first = headline(replace(found, cells=(more, slow)))
    assert "new connections/s" in first
    said = text_of(replace(found, cells=(more, slow)))
    assert "the server's memory: " in said
    assert "more, in force at the newest run" in " ".join(said.split())
