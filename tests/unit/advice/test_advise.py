"""What advice adds to a summary: grades, configurations, a recommendation not by speed alone."""

import io
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from rich.console import Console

from factories.run import SERVER_US, World, made_run
from factories.worded import advised, summarise
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.experiment import load, with_levels
from tlslab.lab.results import recommendations, summary_of
from tlslab.report import render_html, render_text
from tlslab.words.recommendation import reason

FASTEST = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
GOOD = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
ALSO_GOOD = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
CBC = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
TLS13: Mapping[str, tuple[str, ...]] = {"tls": ("1.3",), "key": ("ecdsa-p256",)}
COSTS = {FASTEST: 200.0, GOOD: 300.0, ALSO_GOOD: 400.0, CBC: 500.0}


def suites_run(costs: Mapping[str, float], target: str = "nginx") -> RunContents:
    """A run of suites over HTTP/2, of connections alone."""
    whole = load("suites")
    levels = {"tls": ("1.2",), "suite": tuple(costs), "http": ("2",), "dh_bits": ("1024", "2048")}
    experiment = with_levels(
        replace(whole, workload=replace(whole.workload, keep_alive=None)), levels
    )
    world = World(cost_us=lambda levels: costs[levels["suite"]], target=target)
    return made_run(world, experiment=experiment)


def text_of(summary: Summary, id_: str) -> str:
    return next(text.text for text in summary.texts if text.id == id_)


def said(summary: Summary) -> str:
    """The sentence of the recommendation."""
    (finding,) = [each for each in summary.findings if each.code == "recommendation"]
    return finding.text


def test_the_fastest_is_not_recommended_when_it_is_broken() -> None:
    summary = summary_of(suites_run(COSTS))
    assert summary.recommendation is not None
    (server,) = summary.recommendation["servers"]
    assert server["suite"] == GOOD
    assert server["order"] == [GOOD, ALSO_GOOD]
    assert set(server["left_out"]) == {FASTEST, CBC}
    json.dumps(summary.recommendation)
    words = said(summary)
    assert words.startswith("ECDHE-RSA-AES128-GCM-SHA256 is recommended on nginx (")
    assert "The best of all by new connections/s is DHE-RSA-AES128-GCM-SHA256, not rec" in words
    assert "48 bits at least are required (and 4 more)" in words


def test_the_report_quotes_what_recommend_gives() -> None:
    """One choice, one reason, one order: in the sentence, the texts and the summary."""
    contents = suites_run({**COSTS, GOOD: 401.0})
    found, summary = recommendations(contents)["nginx"], summary_of(contents)
    assert reason(found.choice) in said(summary)
    assert summary.recommendation is not None
    assert tuple(summary.recommendation["servers"][0]["order"]) == found.names
    text = text_of(summary, "emit-nginx")
    first, second = (
        {GOOD: "ECDHE-RSA-AES128-GCM-SHA256", ALSO_GOOD: "ECDHE-RSA-AES256-GCM-SHA384"}[name]
        for name in found.names
    )
    assert f"\nssl_ciphers {first}:{second};\n" in text
    assert "Configuration: nginx" in [block.title for block in summary.texts]
    words = " ".join(text.replace("#", " ").split())
    assert f"tlslab recommend, aim throughput: {first}, then {second}." in words
    assert "fastest first" not in text


def test_an_answer_that_names_another_first_points_at_the_recommendation() -> None:
    """The fastest by new connections/s has a probability; the choice is the safest contender."""
    costs = {**SERVER_US, "P-256": 255.4, "X25519": 255.0, "X25519MLKEM768": 254.9}
    levels = {**TLS13, "group": ("X25519", "P-384", "X25519MLKEM768")}
    experiment = replace(with_levels(load("groups"), levels), blocks=6, stopping=None)
    seen = []
    for seed in range(1, 9):
        contents = made_run(World(server_us=costs, seed=seed), experiment=experiment)
        summary = summary_of(contents)
        chosen = recommendations(contents)["nginx"].names[0]
        assert summary.answer is not None
        first, *more = summary.answer.sentences
        _, pointed, choice = " ".join(more).partition(
            "Recommended on nginx, by new connections/s: "
        )
        seen.append(bool(pointed))
        assert seen[-1] == (first.split()[0].strip(",") != chosen)
        assert choice == (f"{chosen}." if pointed else "")
    assert set(seen) == {True, False}


def test_a_slower_hybrid_stays_behind_for_libraries_that_have_it() -> None:
    """Against a URL the server's library is not known: hybrids stand in a comment."""
    levels = {**TLS13, "group": ("X25519", "P-256", "X25519MLKEM768")}
    experiment = with_levels(load("groups", "quick"), levels)
    world = World(target="https://127.0.0.1:8443/", managed=False)
    summary = summary_of(made_run(world, experiment=replace(experiment, blocks=6)))
    for text in (each.text for each in summary.texts if each.id != "emit-domino"):
        assert "X25519MLKEM768:X25519" not in text
        assert "X25519:prime256v1:X25519MLKEM768" in text
        assert "With OpenSSL 3.5 or later, the whole order:" in text


def test_each_syntax_has_the_order_of_its_own_server() -> None:
    levels = {**TLS13, "server": ("nginx", "node"), "front": ("none",)}
    experiment = with_levels(load("groups", "quick"), {**levels, "group": ("X25519", "P-256")})

    def cost_us(cell: Mapping[str, str]) -> float:
        cheap = "X25519" if cell["server"] == "nginx" else "P-256"
        return 200.0 if cell["group"] == cheap else 300.0

    contents = made_run(World(cost_us=cost_us), experiment=replace(experiment, blocks=6))
    summary = summary_of(contents)
    for id_, line in (
        ("emit-nginx", "ssl_ecdh_curve X25519:prime256v1"),
        ("emit-apache", "SSLOpenSSLConfCmd Groups X25519:prime256v1"),
        ("emit-node", "ecdhCurve: 'prime256v1:X25519"),
    ):
        assert line in text_of(summary, id_), id_
    assert len([f for f in summary.findings if f.code == "recommendation"]) == 2


def test_the_table_has_every_suite_and_small_sizes_on_their_own() -> None:
    table, reasons = summary_of(suites_run(COSTS)).tables[-2:]
    rows = {str(row[0]): row for row in table.rows}
    assert rows[GOOD][1] == "yes"
    assert rows[FASTEST][1] == rows[CBC][1] == "no"
    assert rows[f"{FASTEST}, DH 1024"][2] == "forbidden"
    assert rows[FASTEST][2] == "discouraged"
    assert any("2048 bits at least" in str(row[3]) for row in reasons.rows)
    assert all(str(row[4]).startswith("https://") for row in reasons.rows)
    assert f"{FASTEST}, DH 2048" not in rows
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_groups_study_is_advised_as_well() -> None:
    summary = summary_of(made_run())
    assert "SSL_DISABLE_CURVE_P521=1" in text_of(summary, "emit-domino")
    assert "TLS 1.2" in text_of(summary, "emit-domino")
    assert "ssl_ecdh_curve X25519:prime256v1" in text_of(summary, "emit-nginx")
    assert not [text for text in summary.texts if text.id == "emit-rwserve"]
    assert summary.recommendation is not None
    assert summary.recommendation["servers"][0]["group"] == "X25519"


def test_a_level_that_no_server_has_is_not_graded() -> None:
    summary = advised(summarise(made_run(World(unsupported=frozenset({"X448"})))))
    table = next(table for table in summary.tables if table.id == "security")
    graded = [row[0] for row in table.rows]
    assert "X25519" in graded
    assert "X448" not in graded


def test_without_a_ranking_there_is_nothing_to_recommend() -> None:
    contents = made_run(quick=True)
    bare = replace(summarise(contents), rankings=())
    summary = advised(bare, recommendations(contents))
    assert summary.texts == ()
    assert summary.recommendation is None
    assert summary.findings == bare.findings


@pytest.mark.parametrize("hostile", ["</script><b>", "x\x1b]0;owned\x07"])
def test_page_and_terminal_show_advice_and_stay_sanitised(hostile: str) -> None:
    summary = summary_of(made_run(World(software=hostile), quick=True))
    page = render_html(summary)
    assert "ssl_ecdh_curve" in page
    assert "</script><b>" not in page
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert "ssl_ecdh_curve" in printed
    assert "\x1b" not in printed
