"""The page: complete, self-contained, and safe with a hostile server."""

import json
import re
from dataclasses import replace

import pytest
from plotly import graph_objects

from factories.page import HOSTILE, Page
from factories.run import World, made_run
from tlslab import report
from tlslab.analysis import summarise
from tlslab.model.finding import Summary
from tlslab.model.record import Reason, Trial
from tlslab.report import render_html


@pytest.fixture(scope="session")
def page(full_summary: Summary) -> str:
    return render_html(full_summary)


def figures(page: str) -> dict[str, dict[str, object]]:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert found is not None
    loaded = json.loads(found[1])
    assert isinstance(loaded, dict)
    return loaded


def test_the_page_fetches_nothing(page: str) -> None:
    parsed = Page(page)
    assert {value for name, value in parsed.attributes if name in ("src", "action")} == set()
    links = {value for name, value in parsed.attributes if name == "href"}
    assert all(link.startswith("#") for link in links)
    assert "default-src 'none'" in page
    assert not set(parsed.tags) & {"link", "iframe", "img", "object", "embed", "base"}


def test_pages_can_share_one_script(full_summary: Summary, page: str) -> None:
    light = render_html(full_summary, "../plotly.min.js")
    sources = [value for name, value in Page(light).attributes if name == "src"]
    assert sources == ["../plotly.min.js"]
    assert len(light) < len(page) - 4_000_000
    assert figures(light) == figures(page)


def test_all_that_the_summary_says_is_on_the_page(page: str, full_summary: Summary) -> None:
    text = Page(page).text
    for finding in full_summary.findings:
        for figure in re.findall(r"\d[\d,]*(?:\.\d+)?", finding.text):
            assert figure in text
    for excluded in full_summary.excluded:
        assert excluded.reason in text
    for warning in full_summary.environment.warnings:
        assert warning in text
    assert f"--seed {full_summary.experiment.seed}" in text
    assert full_summary.environment.target.software in text


def test_every_setting_has_a_table_and_three_figures(page: str) -> None:
    assert Page(page).attributes.count(("class", "ranking")) == 4
    assert sorted(figures(page)) == sorted(
        f"setting-{number}-{kind}" for number in (1, 2, 3, 4) for kind in ("rate", "cost", "cpu")
    )


def test_figures_are_valid_and_carry_intervals(page: str) -> None:
    drawn = figures(page)
    for figure in drawn.values():
        graph_objects.Figure(figure)
    rate = graph_objects.Figure(drawn["setting-1-rate"]).data[0]
    assert next(iter(rate.y)) == "X25519"
    assert list(rate.x) == sorted(rate.x, reverse=True)
    assert all(above > 0 for above in rate.error_x.array)
    assert all(below > 0 for below in rate.error_x.arrayminus)
    names = {trace.name for trace in graph_objects.Figure(drawn["setting-1-cost"]).data}
    assert names == {"server, user", "server, system", "client, user", "client, system"}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_server_changes_nothing_of_the_page(hostile: str) -> None:
    def refuse(trial: Trial) -> Trial:
        reason = Reason("tls_protocol", f"the server said {hostile}")
        refused = trial.factors["group"] == "P-384"
        return replace(trial, status="failed", reason=reason, runs={}) if refused else trial

    def parsed(text: str) -> Page:
        contents = made_run(World(change=refuse, software=text, noise=0.0), quick=True)
        environment = replace(
            contents.environment,
            target=replace(contents.environment.target, software=text, backend=text, host=text),
            warnings=(text,),
        )
        return Page(render_html(summarise(replace(contents, environment=environment))))

    attacked, plain = parsed(hostile), parsed("ordinary")
    assert attacked.tags == plain.tags
    assert [name for name, _ in attacked.attributes] == [name for name, _ in plain.attributes]
    assert "\x1b" not in attacked.text
    assert "\u202e" not in attacked.text
    assert " ".join(report.plain(hostile).split()) in attacked.text


def test_a_run_without_results_is_still_a_page() -> None:
    contents = replace(made_run(quick=True), trials=())
    text = Page(render_html(summarise(contents))).text
    assert "Not enough to say. No cell has a result that may be ranked" in text
    assert "none of 5 planned trials was run" in text


def test_an_external_server_has_one_column_of_figures() -> None:
    world = World(target="https://127.0.0.1:8443/x", managed=False)
    page = render_html(summarise(made_run(world, quick=True)))
    names = {trace["name"] for trace in figures(page)["setting-1-cost"]["data"]}  # type: ignore[attr-defined]
    assert names == {"client, user", "client, system"}
