"""One screen in the terminal: the answer, one table, what changes the answer, what next."""

import io
import re
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console, Group, RenderableType

from factories.pages import SUMMARIES
from factories.run import TEN_BLOCKS, World, made_run
from factories.saturated import saturated
from factories.worded import summarise
from tlslab.domain.figure import DataTable, Figure
from tlslab.domain.finding import Finding, Note, Summary
from tlslab.experiment import with_levels
from tlslab.report import brief, render_short, render_text
from tlslab.report.brief import LINES, PICTURE, WARNINGS, Rows, Screen
from tlslab.words.cautions import deciding, warnings

pytestmark = pytest.mark.slow

PLACE = ("runs/x",)
ONE_SETTING = with_levels(TEN_BLOCKS, {"tls": ("1.3",), "key": ("ecdsa-p256",)})


def printed(shown: RenderableType, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(shown, crop=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def short(summary: Summary, width: int = 100) -> str:
    return printed(render_short(summary, PLACE), width)


@cache
def made(name: str) -> Summary:
    return SUMMARIES[name]()


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_report_of_any_kind_has_one_screen(name: str) -> None:
    for width in (80, 100, 130):
        lines = short(made(name), width).splitlines()
        assert len(lines) <= LINES
        assert max(map(len, lines)) <= width
        steps = "\n".join(lines).partition("\nnext: ")[2]
        assert len(re.findall(r"\btlslab ", steps)) == 2


def test_a_ranking_has_answer_picture_and_table_in_this_order() -> None:
    text = short(made("ranking"))
    order = (
        "Which key-exchange group is fastest here?",
        "X25519 is the fastest",
        "10 blocks in random order",
        "Load: ",
        "●",
        "TLS 1.3, ECDSA P-256\n#",
        "1  X25519                     3,883  baseline",
        "18 more rows: --details",
        "1 warning: --details",
        "next: tlslab recommend runs/x --for nginx  # the configuration",
        "tlslab report runs/x --details  # all tables and warnings",
    )
    places = [text.find(each) for each in order]
    assert -1 not in places
    assert places == sorted(places)


def test_recommendations_and_published_figures_are_in_the_details_only() -> None:
    summary = made("ranking")
    whole, text = printed(render_text(summary)), short(summary)
    assert "Configuration: nginx" in whole
    assert "Configuration: " not in text
    assert "ssl_protocols" not in text
    for other in ("HCL Domino", "Apache httpd", "HAProxy"):
        assert f"Configuration: {other}" not in whole


def test_published_ratios_stand_beside_a_study_as_it_was() -> None:
    summary = made("ranking")
    assert re.search(r"ratio +study", short(summary))
    command = (*summary.environment.command, "--set", "key=rsa-2048")
    where = replace(summary.environment, command=command)
    assert not re.search(r"ratio +study", short(replace(summary, environment=where)))


def test_only_warnings_that_change_the_answer_are_printed() -> None:
    summary = made("ranking")
    assert deciding(summary) == ((), len(warnings(summary)))
    bounded = summarise(made_run(World(change=saturated({"X25519"})), experiment=ONE_SETTING))
    lines, total = deciding(bounded)
    assert ["rates are lower bounds" in line for line in lines] == [True]
    assert total > 1
    assert f"{total - 1} more warning" in short(bounded)
    # A lower bound that does not lead changes nothing.
    slow = summarise(made_run(World(change=saturated({"P-521"})), experiment=ONE_SETTING))
    assert deciding(slow)[0] == ()


def test_cells_without_a_result_and_disagreements_change_the_answer() -> None:
    summary = made("capacity")
    dead = replace(summary.cells[0], verdict="failed", reasons=(Note("x", "it died"),))
    cells = (dead, replace(dead, key="2"), *summary.cells[2:])
    (line,), _ = deciding(replace(summary, cells=cells))
    assert line.endswith("and 1 other cell: failed: it died")
    ranked = made("lacking")
    odd = Finding("why_disagrees", "the samples do not agree")
    lines, _ = deciding(replace(ranked, findings=(*ranked.findings, odd)))
    assert "the samples do not agree" in lines


def test_a_table_of_one_screen_has_its_own_columns() -> None:
    summary = made("capacity")
    first, *others = summary.tables
    wanted = replace(first, brief=("server", "verdict"))
    head = short(replace(summary, tables=(*others, wanted))).partition("The maximum\n")[2]
    assert head.splitlines()[0].split() == ["server", "verdict"]
    plain = DataTable("t", "Plain", "", ("name", "value"), (("a", 1),))
    assert "Plain\nname  value\n" in short(replace(summary, tables=(plain,)))


def test_one_row_is_no_picture() -> None:
    summary = made("ranking")
    assert summary.answer is not None
    wanted = summary.answer.figure

    def one(figure: Figure) -> Figure:
        return replace(figure, series=tuple(each.only([0]) for each in figure.series))

    figures = tuple(one(each) if each.id == wanted else each for each in summary.figures)
    assert "●" not in short(replace(summary, figures=figures))


def test_one_trial_each_without_an_interval_is_no_picture() -> None:
    summary = summarise(made_run(experiment=replace(ONE_SETTING, blocks=1)))
    assert summary.answer is not None
    assert summary.answer.figure
    assert "●" not in short(summary)
    assert "●" in short(summarise(made_run(experiment=replace(ONE_SETTING, blocks=2))))


def listed(title: str, count: int, noun: str = "row", total: int = 0) -> Rows:
    def drawn(first: int) -> RenderableType:
        return Group(*(f"{title} {number}" for number in range(first)))

    return Rows(drawn, count, noun, total)


def test_a_screen_is_never_longer_and_counts_what_it_leaves_out() -> None:
    for count in (0, 1, 5, 30, 3000):
        parts = (
            listed("dot", count),
            listed("cell", count),
            listed("caution", count, "warning", count + 2),
        )
        text = printed(Screen("question", *parts, "next"), 80)
        lines = text.splitlines()
        assert len(lines) <= LINES
        assert (lines[0], lines[-1]) == ("question", "next")
        for title, noun, total, most in (
            ("dot", "row", count, PICTURE),
            ("cell", "row", count, LINES),
            ("caution", "warning", count + 2, WARNINGS),
        ):
            shown = text.count(f"{title} ")
            assert shown <= most
            if 0 < shown < total:
                assert f"{total - shown:,} more {noun}" in text


def test_without_room_the_picture_and_the_table_are_cut() -> None:
    parts = (listed("dot", 9), listed("cell", 9), listed("caution", 4, "warning"))
    text = printed(Screen("question", *parts, "next", lines=20), 80)
    assert len(text.splitlines()) <= 20
    assert [text.count(each) for each in ("dot ", "caution ", "cell ")] == [4, 4, 5]


def test_a_table_of_many_rows_is_not_rendered_to_be_measured() -> None:
    asked = []

    def drawn(first: int) -> RenderableType:
        asked.append(first)
        return Group(*("x" for _ in range(first)))

    printed(Screen("q", None, Rows(drawn, 100_000, "row", lines=100_000), None, "n"), 80)
    assert max(asked) <= brief.LINES
