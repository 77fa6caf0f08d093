"""The page: complete, self-contained, and safe against a hostile server."""

import base64
import hashlib
import re
from dataclasses import replace

import pytest

from factories.page import HOSTILE, Page
from factories.run import World, made_run
from factories.worded import summarise
from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain as sanitised
from tlslab.domain.trial import Reason, Trial
from tlslab.report import render_html
from tlslab.report.html import HEAVIEST


@pytest.fixture(scope="session")
def page(full_summary: Summary) -> str:
    return render_html(full_summary)


def test_the_page_fetches_nothing(page: str) -> None:
    parsed = Page(page)
    assert {value for name, value in parsed.attributes if name in ("src", "action")} == set()
    links = {value for name, value in parsed.attributes if name == "href"}
    assert all(link.startswith("#") for link in links)
    assert not set(parsed.tags) & {"link", "iframe", "img", "object", "embed", "base"}


def test_nothing_runs_or_styles_the_page_but_what_the_policy_has_a_hash_of(page: str) -> None:
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    policy = found[1].replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    elements = re.findall(r"<(?:style|script)[^>]*>(.*?)</(?:style|script)>", page, re.S)
    assert len(elements) == 3
    for text in elements:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    names = {name for name, _ in Page(page).attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]


def test_a_page_is_light_enough_for_mail(page: str) -> None:
    assert len(page.encode()) <= HEAVIEST


def test_warnings_come_first_in_the_contents_and_in_details(page: str) -> None:
    contents = page[page.index("<nav") : page.index("</nav>")]
    links = re.findall(r'href="(#[^"]+)"', contents)
    assert links[0] == "#warnings"
    assert links[1] == "#answer"
    folds = re.findall(r'<section id="([^"]+)" class="fold', page)
    assert folds[0] == "warnings"
    assert folds[-2:] == ["method", "environment"]
    assert set(links) - {"#details"} <= {f"#{id_}" for id_ in re.findall(r' id="([^"]+)"', page)}


def test_ids_are_unique(page: str) -> None:
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_excluded_combinations_are_grouped_by_reason(full_summary: Summary, page: str) -> None:
    excluded = page[page.index('<section id="excluded"') :]
    groups = excluded[: excluded.index("</section>")]
    assert groups.count("<dt>") == len({each.reason for each in full_summary.excluded})


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


def test_every_setting_has_its_rows_and_figures(page: str, full_summary: Summary) -> None:
    table = page[page.index('id="grid-results"') :]
    table = table[: table.index("</table>")]
    assert table.count("<tr") == len(full_summary.cells) + 1
    for number in (1, 2, 3, 4):
        assert f'data-figure="setting-{number}-rate"' in page
        assert f'data-figure="setting-{number}-server-cost"' in page


def test_exact_numbers_are_those_of_the_summary(page: str, full_summary: Summary) -> None:
    cell = full_summary.cells[0]
    row = page[page.index(f'data-cell="{cell.key}"') :]
    row = row[: row.index("</tr>")]
    for name in (
        "connections_per_s",
        "server_cpu_us_per_connection",
        "client_cpu_us_per_connection",
    ):
        found = cell.estimates[name]
        assert f'data-v="{found.value!r} {found.low!r} {found.high!r} {found.n}"' in row


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
    assert " ".join(sanitised(hostile).split()) in attacked.text


def test_a_run_without_results_is_still_a_page() -> None:
    contents = replace(made_run(quick=True), trials=())
    text = Page(render_html(summarise(contents))).text
    assert "Not enough to say" in text
    assert "No cell has a result that may be ranked" in text
    assert "none of 5 planned trials was run" in text


def test_an_external_server_has_no_cost_of_its_own() -> None:
    world = World(target="https://127.0.0.1:8443/x", managed=False)
    page = render_html(summarise(made_run(world, quick=True)))
    assert 'data-name="client_cpu_us_per_connection"' in page
    assert 'data-name="server_cpu_us_per_connection"' not in page


def test_the_length_of_stapled_responses_is_a_column_where_there_are_any(page: str) -> None:
    def stapled(trial: Trial) -> Trial:
        runs = {}
        for kind, run in trial.runs.items():
            facts = tuple(replace(each, ocsp_response_bytes=282) for each in run.record.facts)
            runs[kind] = replace(run, record=replace(run.record, facts=facts))
        return replace(trial, runs=runs)

    found = render_html(summarise(made_run(World(change=stapled), quick=True)))
    assert 'data-v="282.0 282.0 282.0' in found
    assert "OCSP response" in found
    assert "OCSP response" not in page
