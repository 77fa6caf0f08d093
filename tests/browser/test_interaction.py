"""Actions on a page: levels of detail, tables, charts, links, copies, a second run."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from browser.opened import Opened
from factories.pages import OBJECTED
from tlslab.domain.finding import Summary
from tlslab.lab.store import to_json


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_the_levels_that_policies_object_to_can_be_hidden(
    browser: Browser, pages: dict[str, Path], script: bool
) -> None:
    with Opened(browser, pages["objections"], java_script_enabled=script) as opened:
        page = opened.page
        rows = page.locator("#grid-results tbody tr:visible")
        objected = page.locator("#grid-results tr.objected:visible")
        drawing = page.locator("figure.picture .drawing:visible")
        assert "is recommended on" in (page.text_content("#answer .headline") or "")
        assert objected.count() > 0
        assert drawing.count() == 1
        assert OBJECTED in (drawing.text_content() or "")
        everything = rows.count()
        page.locator("#levels-deployable").check()
        assert objected.count() == 0
        assert 0 < rows.count() < everything
        assert drawing.count() == 1
        assert OBJECTED not in (drawing.text_content() or "")
        page.locator("#levels-all").check()
        assert rows.count() == everything
        assert OBJECTED in (drawing.text_content() or "")


def test_only_what_differs_hides_what_does_not(browser: Browser, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["objections"]) as opened:
        rows = opened.page.locator("#grid-results tbody tr:visible")
        equal = opened.page.locator("#grid-results tr[data-differs=no]:visible")
        assert equal.count() > 0
        opened.page.locator("#results").get_by_text("Only what differs").click()
        assert equal.count() == 0
        assert rows.count() > 0


def counted(text: str) -> list[str | int]:
    """The parts of a text in natural order, in which digits compare as numbers."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def test_a_column_of_words_sorts_by_the_keyboard(browser: Browser, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["ranking"]) as opened:
        page = opened.page
        names = page.locator("#grid-results tbody th b")
        before = names.all_text_contents()
        assert before != sorted(before, key=counted)
        page.locator("#grid-results th[data-name=cell] button").focus()
        for direction in ("ascending", "descending"):
            page.keyboard.press("Enter")
            assert page.locator(f"th[data-name=cell][aria-sort={direction}]").count() == 1
            wanted = sorted(before, key=counted, reverse=direction == "descending")
            assert names.all_text_contents() == wanted
        page.keyboard.press("Enter")
        assert page.locator("th[aria-sort]").count() == 0
        assert names.all_text_contents() == before


def test_a_filtered_table_is_saved_without_the_hidden_rows(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary]
) -> None:
    cells = summaries["ranking"].cells
    wanted = {cell.key for cell in cells if cell.factors["tls"] == "1.2"}
    assert 0 < len(wanted) < len(cells)
    with Opened(browser, pages["ranking"]) as opened:
        opened.page.locator("#results .filter select").first.select_option("TLS 1.2")
        head, *rows = opened.saved("#results .tools >> text=CSV")
    assert len(rows) == len(wanted)
    assert {row[head.index("cell")] for row in rows} == wanted
    assert {row[head.index("tls")] for row in rows} == {"1.2"}


@pytest.mark.parametrize("place", ["#results", "figure.picture"])
def test_a_copied_table_or_chart_equals_the_saved_one(ranking: Opened, place: str) -> None:
    saved = ranking.saved(f"{place} .tools >> text=CSV")
    copied = ranking.copied(f"{place} .tools >> text=Copy")
    assert len(saved) > 5
    assert [line.split("\t") for line in copied.split("\n")] == saved


def test_a_configuration_is_copied_as_it_is(ranking: Opened, summaries: dict[str, Summary]) -> None:
    wanted = next(each.text for each in summaries["ranking"].texts if each.id == "emit-nginx")
    assert "ssl_ecdh_curve" in wanted
    ranking.page.locator("#text-emit-nginx summary").click()
    assert ranking.copied("#text-emit-nginx .copied button") == wanted


def laid_over(page: Page) -> Locator:
    """The values of a second run in the table of results."""
    return page.locator("#grid-results small.second")


def test_a_second_run_is_chosen_as_a_file(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary], tmp_path: Path
) -> None:
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(to_json(summaries["ranking"])), "utf-8")
    with Opened(browser, pages["ranking"]) as opened:
        with opened.page.expect_file_chooser() as chooser:
            opened.page.locator("#second").click()
        assert laid_over(opened.page).count() == 0
        chooser.value.set_files(file)
        assert "values of the second run" in opened.said()
        assert laid_over(opened.page).count() > len(summaries["ranking"].cells)
        assert opened.complaints == []
