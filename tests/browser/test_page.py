"""The page in a real browser: reading, saving, sorting, overlay; no hostile text is executed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, ViewportSize

from browser.opened import DESKTOP, PHONE, SCHEMES, Opened
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.domain.finding import Summary
from tlslab.lab.store import to_json
from tlslab.report import render_html


def test_everything_is_read_without_a_script(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary]
) -> None:
    cells = summaries["ranking"].cells
    with Opened(browser, pages["ranking"], java_script_enabled=False) as opened:
        page = opened.page
        assert page.locator("figure.picture svg.fig:visible").count() == 1
        assert page.locator("#grid-results tbody tr:visible").count() == len(cells)
        assert page.locator("#grid-results thead th:visible").count() > 15
        page.locator("#method summary").click()
        assert page.locator("#method pre").is_visible()


def test_saved_files_have_the_values_of_the_summary(
    ranking: Opened, summaries: dict[str, Summary]
) -> None:
    summary = summaries["ranking"]
    head, *rows = ranking.saved("#results .tools >> text=CSV")
    figure = ranking.saved("figure.picture .tools >> text=CSV")
    assert len(rows) == len(summary.cells)
    seen = 0
    for row in rows:
        saved = dict(zip(head, row, strict=True))
        cell = summary.cell(saved["cell"])
        for name, estimate in cell.estimates.items():
            if name in saved:
                numbers = [saved[name], *(saved[f"{name}_{part}"] for part in ("low", "high", "n"))]
                wanted = (estimate.value, estimate.low, estimate.high, estimate.n)
                assert [float(number) if number else None for number in numbers] == list(wanted)
                seen += 1
        assert {name: saved[name] for name in ("tls", "key", "group")} == dict(cell.factors)
    assert seen > 8 * len(rows)
    assert summary.answer is not None
    drawn = next(each for each in summary.figures if each.id == summary.answer.figure)
    assert [float(row[1]) for row in figure[1:]] == list(drawn.series[0].y)
    trials = [[float(each) for each in row[-1].split()] for row in figure[1:]]
    assert trials == [list(each) for each in drawn.series[0].samples]


def test_a_chart_without_a_table_is_saved_with_all_its_digits(
    ranking: Opened, summaries: dict[str, Summary]
) -> None:
    ranking.open_all()
    first = ranking.page.locator("#use figure").first
    id_ = first.get_attribute("data-figure")
    rows = ranking.saved(f"#figure-{id_} .tools >> text=CSV")
    drawn = next(each for each in summaries["ranking"].figures if each.id == id_)
    assert [row[0] for row in rows[1:]] == [repr(x) for x in drawn.series[0].x]
    for column, series in enumerate(drawn.series, start=1):
        assert [row[column] for row in rows[1:]] == [repr(y) for y in series.y]


def test_the_contents_stay_in_sight(ranking: Opened) -> None:
    ranking.open_all()
    half = "{top: document.body.scrollHeight / 2, behavior: 'instant'}"
    ranking.page.evaluate(f"scrollTo({half})")
    assert ranking.page.evaluate("scrollY") > 2 * DESKTOP["height"]
    box = ranking.page.locator(".contents a").first.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < DESKTOP["height"]


def test_no_entry_of_the_contents_is_cut_off(ranking: Opened) -> None:
    links = "[...document.querySelectorAll('.contents a')]"
    cut = f"{links}.filter(a => a.scrollWidth > a.clientWidth).map(a => a.textContent)"
    assert ranking.page.evaluate(cut) == []


def test_a_table_of_the_summary_is_saved_with_all_its_digits(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary]
) -> None:
    with Opened(browser, pages["other"]) as opened:
        rows = opened.saved("#table-t .tools >> text=CSV")
    first = summaries["other"].tables[0].rows[0]
    assert rows[0] == [
        "server",
        "rate, /s",
        "rate, /s low",
        "rate, /s high",
        "rate, /s n",
        "n",
        "none",
    ]
    assert rows[1] == ["nginx", "3412.0", "3390.0", "3440.0", "10", "3", ""]
    assert first[0] == "nginx"


def test_tables_sort_filter_and_open_by_the_keyboard(
    browser: Browser, pages: dict[str, Path], summaries: dict[str, Summary]
) -> None:
    count = len(summaries["ranking"].cells)
    with Opened(browser, pages["ranking"], viewport=PHONE) as opened:
        page = opened.page
        rows = page.locator("#grid-results tbody tr:visible")
        assert rows.count() == 10
        page.locator("#results button.more").click()
        assert rows.count() == count
        page.locator("#results .filter select").first.select_option("TLS 1.2")
        assert 0 < rows.count() < count
        page.locator("#grid-results th[data-name=connections_per_s] button").focus()
        page.keyboard.press("Enter")
        assert page.locator("th[aria-sort=descending]").count() == 1
        values = [
            float((each.get_attribute("data-v") or "0").split()[0])
            for each in page.locator("#grid-results tbody tr:visible td:nth-child(2)").all()
        ]
        known = [value for value in values if value]
        assert known == sorted(known, reverse=True)
        page.locator("#grid-results tbody tr:visible button.open").first.focus()
        page.keyboard.press("Enter")
        assert "client CPU" in (page.text_content("tr.detail") or "")


def test_a_link_opens_its_fold(browser: Browser, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["ranking"]) as opened:
        page = opened.page
        page.goto(f"{pages['ranking'].as_uri()}#environment")
        assert page.locator("#environment dl").is_visible()
        assert not page.locator("#method pre").is_visible()
        page.locator(".contents a[href='#method']").click()
        page.wait_for_selector("#method pre")


def test_axes_and_trials_can_be_switched(browser: Browser, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["ranking"]) as opened:
        figure = opened.page.locator("figure.picture")
        assert figure.locator(".axis-first svg:visible").count() == 1
        figure.get_by_text("Logarithmic axis").click()
        assert figure.locator(".axis-other svg:visible").count() == 1
        assert figure.locator(".axis-first svg:visible").count() == 0
        trials = "getComputedStyle(document.querySelector('.axis-other .tr')).display"
        assert opened.page.evaluate(trials) == "inline"
        figure.get_by_text("Trials").click()
        assert opened.page.evaluate(trials) == "none"


def test_a_second_run_is_laid_over(ranking: Opened, summaries: dict[str, Summary]) -> None:
    second = json.dumps(to_json(summaries["ranking"]))
    said = ranking.drop(second)
    assert "values of the second run" in said
    bars = next(each for each in summaries["ranking"].figures if each.kind == "stacked_bars")
    assert f"Charts without them: {bars.title}" in said
    assert "(1.00×)" in (ranking.page.text_content("#grid-results small.second") or "")
    figure = ranking.page.locator("figure.picture")
    marks = figure.locator("svg:visible path.second")
    assert marks.count() >= 4
    own = figure.locator("svg:visible circle.p, svg:visible circle.o").first.bounding_box()
    laid = marks.first.bounding_box()
    assert own is not None
    assert laid is not None
    assert abs(own["x"] + own["width"] / 2 - laid["x"] - laid["width"] / 2) < 2
    ranking.drop(second)
    rate = ranking.page.locator("#grid-results tbody tr").first.locator("td").first
    assert rate.locator("small.second").count() == 1
    assert ranking.complaints == []


def test_a_second_run_keeps_its_bounds_intervals_and_machine(
    ranking: Opened, summaries: dict[str, Summary]
) -> None:
    second = json.loads(json.dumps(to_json(summaries["ranking"])))
    bounded, invalid, whole, *_ = second["cells"]
    bounded |= {"verdict": "at_least", "lower_bounds": ["connections_per_s"]}
    invalid["verdict"] = "invalid"
    second["environment"]["machine"]["processor"] = "Another processor"
    for figure in second["figures"]:
        for series in figure["series"]:
            series["bounds"] = [True] * len(series["y"])
    said = ranking.drop(json.dumps(second))
    assert ", on another machine: Another processor, 2 processors: its rates" in said
    note = ranking.page.text_content("figure.picture p.second") or ""
    assert note.endswith(", on another machine: Another processor, 2 processors")

    def lines(cell: dict[str, Any]) -> Locator:
        row = f"#grid-results tbody tr[data-cell='{cell['key']}']"
        return ranking.page.locator(f"{row} small.second")

    assert lines(invalid).count() == 0
    assert "◇ ≥ " in (lines(bounded).first.text_content() or "")
    assert "(≥ 1.00×)" in (lines(bounded).first.text_content() or "")
    assert (lines(bounded).first.get_attribute("title") or "").startswith("second run: ≥ ")
    titles = [each.get_attribute("title") or "" for each in lines(bounded).all()]
    assert any(" (95 %: " in title for title in titles)
    assert " (95 %: " in (lines(whole).first.get_attribute("title") or "")
    titles = ranking.page.locator("figure.picture path.second title").all_text_contents()
    assert titles
    assert all(": ≥ " in title for title in titles)
    assert ranking.complaints == []


def test_another_kind_of_experiment_is_refused(
    ranking: Opened, summaries: dict[str, Summary]
) -> None:
    second = json.loads(json.dumps(to_json(summaries["ranking"])))
    second["experiment"]["kind"] = "costs"
    said = ranking.drop(json.dumps(second))
    assert said == (
        "Not laid over: the file is of another kind of experiment: costs, and this page of matrix"
    )
    assert ranking.page.locator(".second").count() == 0


def test_values_beyond_the_axis_are_counted(ranking: Opened, summaries: dict[str, Summary]) -> None:
    second = json.loads(json.dumps(to_json(summaries["ranking"])))
    for figure in second["figures"]:
        for series in figure["series"]:
            series["y"][0] = 1e9
    ranking.drop(json.dumps(second))
    note = ranking.page.text_content("figure.picture p.second") or ""
    assert note.endswith("; beyond the axis: 1 of its values")


HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)><b>bold</b>"


BROKEN = (
    "",
    "null",
    "[]",
    "{}",
    '{"schema": "tlslab.summary/3", "cells": 7}',
    '{"schema": "tlslab.summary/3", "cells": [{"key": {}, "estimates": {"__proto__": 1}}]}',
    '{"schema": "tlslab.summary/3", "cells": [null, [], {"estimates": []}], "figures": [7]}',
    '{"schema": "<img src=x onerror=alert(1)>", "cells": []}',
)


def test_a_broken_second_run_changes_nothing(ranking: Opened) -> None:
    before = ranking.page.content()
    for text in BROKEN:
        said = ranking.drop(text)
        assert "Not laid over" in said or "shares nothing" in said, text
        assert ranking.page.locator(".second, img").count() == 0, text
        assert ranking.complaints == [], text
        assert len(ranking.page.content()) < len(before) + 500, text


def test_nothing_of_a_hostile_second_run_runs(
    ranking: Opened, summaries: dict[str, Summary]
) -> None:
    second = json.loads(json.dumps(to_json(summaries["ranking"])))
    second["experiment"]["title"] = second["environment"]["created"] = HOSTILE
    for cell in second["cells"]:
        for estimate in cell["estimates"].values():
            estimate["unit"] = estimate["method"] = HOSTILE
    for figure in second["figures"]:
        figure["title"] = figure["caption"] = HOSTILE
    ranking.drop(json.dumps(second))
    assert ranking.page.locator("img").count() == 0
    assert HOSTILE[:40] in (ranking.page.text_content("figcaption p.second") or "")
    assert ranking.complaints == []


def test_nothing_of_a_hostile_server_runs(browser: Browser, tmp_path: Path) -> None:
    contents = made_run(World(software=HOSTILE), quick=True)
    target = replace(contents.environment.target, software=HOSTILE, backend=HOSTILE)
    environment = replace(contents.environment, target=target, warnings=(HOSTILE,))
    path = tmp_path / "report.html"
    path.write_text(render_html(summarise(replace(contents, environment=environment))), "utf-8")
    with Opened(browser, path) as opened:
        opened.open_all()
        assert opened.complaints == []
        assert opened.page.locator("img").count() == 0
        assert opened.page.get_by_text(HOSTILE, exact=False).count() >= 2


def test_colours_follow_the_readers_choice(ranking: Opened) -> None:
    script = (
        "[getComputedStyle(document.body).backgroundColor,"
        " getComputedStyle(document.querySelector('svg.fig text')).fill]"
    )
    found = []
    for scheme in SCHEMES:
        ranking.show_on(DESKTOP, scheme)
        found.append(ranking.page.evaluate(script))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


def test_the_page_prints(ranking: Opened, tmp_path: Path) -> None:
    page = ranking.page
    ranking.show_on(DESKTOP, "dark")
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    ranking.show_on(ViewportSize(width=642, height=1000), "dark", "print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = ".tools:visible, .contents:visible, button.open:visible, button.more:visible"
    assert page.locator(hidden).count() == 0
    assert page.locator("#grid-results thead .sort:visible").count() > 4
    assert page.evaluate("document.documentElement.scrollWidth") <= 642
