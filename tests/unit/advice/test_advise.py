"""What advice adds to a summary: grades, configurations, a recommendation not by speed alone."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from factories.run import World, made_run
from tlslab.advice import advised
from tlslab.analysis import summarise
from tlslab.model.estimate import Estimate
from tlslab.model.finding import CellSummary, Place, Ranking, Summary
from tlslab.report import render_html, render_text

FASTEST = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
GOOD = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
ALSO_GOOD = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
CBC = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
KEEP_ALIVE = "keep_alive_requests_per_s"
HANDSHAKE = "server_cpu_us_per_connection"


def suite_cell(suite: str, server: str, bits: str, rate: float) -> CellSummary:
    factors = {"server": server, "dh_bits": bits, "tls": "1.2", "suite": suite, "http": "2"}
    return CellSummary(
        key=f"{server} {suite} {bits}",
        factors=factors,
        verdict="valid",
        reasons=(),
        trials=10,
        estimates={KEEP_ALIVE: Estimate(rate, rate - 9, rate + 9, 10, "1/s", "made up")},
    )


def placed(groups: Sequence[Sequence[str]]) -> Iterator[Place]:
    """The places of groups of cells; the cells of a group share their ranks."""
    rank = 1
    for group in groups:
        for cell in group:
            yield Place(cell, rank, rank + len(group) - 1)
        rank += len(group)


def suites_summary(servers: Mapping[str, Sequence[Sequence[str]]]) -> Summary:
    """A summary of suites: each server's groups, fastest first."""
    base = summarise(made_run(quick=True))
    cells, rankings = [], []
    for server, groups in servers.items():
        rate, keys = 9000.0, []
        for group in groups:
            keys.append(tuple(f"{server} {suite} {bits(suite)}" for suite in group))
            for suite in group:
                cells.append(suite_cell(suite, server, bits(suite), rate))
                rate -= 100
        setting = {"server": server, "tls": "1.2", "http": "2"}
        rankings.append(Ranking(setting, KEEP_ALIVE, tuple(placed(keys))))
        backwards = tuple((key,) for group in reversed(keys) for key in reversed(group))
        rankings.append(Ranking(setting, HANDSHAKE, tuple(placed(backwards))))
    factors = {
        "server": tuple(servers),
        "dh_bits": ("none", "1024", "2048"),
        "suite": (FASTEST, GOOD, ALSO_GOOD, CBC),
        "http": ("2",),
    }
    return replace(
        base,
        experiment=replace(base.experiment, factors=factors),
        cells=tuple(cells),
        comparisons=(),
        rankings=tuple(rankings),
    )


def bits(suite: str) -> str:
    return "2048" if "_DHE_" in suite else "none"


ONE = {"nginx": [[FASTEST], [GOOD], [ALSO_GOOD, CBC]]}


def text_of(summary: Summary, id_: str) -> str:
    return next(text.text for text in summary.texts if text.id == id_)


def test_the_fastest_is_not_recommended_when_it_is_broken() -> None:
    summary = advised(suites_summary(ONE))
    assert summary.recommendation is not None
    (server,) = summary.recommendation["servers"]
    assert server["suite"] == GOOD
    assert server["order"] == [GOOD, ALSO_GOOD]
    assert set(server["left_out"]) == {FASTEST, CBC}
    json.dumps(summary.recommendation)
    (finding,) = [f for f in summary.findings if f.code == "recommendation"]
    assert f"{GOOD} is the fastest on nginx that none of 5 policies objects to" in finding.text
    value = f"{FASTEST} (9,000 (95 %: 8,991 to 9,009))"
    assert f"{value} is not established to be slower, and is not recommended" in finding.text
    assert "RFC 10015" in finding.text


def test_one_with_an_objection_is_called_faster_where_that_is_established() -> None:
    base = suites_summary(ONE)
    first, second = base.rankings
    places = (replace(first.places[0], beats=(1, 2, 3)), *first.places[1:])
    summary = advised(replace(base, rankings=(replace(first, places=places), second)))
    (finding,) = [f for f in summary.findings if f.code == "recommendation"]
    assert f"{FASTEST} (9,000 (95 %: 8,991 to 9,009)) is faster, and is not" in finding.text


def test_those_that_cannot_be_told_apart_stand_by_their_handshakes() -> None:
    summary = advised(suites_summary({"nginx": [[GOOD, ALSO_GOOD]]}))
    line = next(x for x in text_of(summary, "emit-nginx").splitlines() if "ssl_ciphers" in x)
    assert line == "ssl_ciphers ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256;"


@pytest.mark.parametrize(
    ("open_", "words"),
    [
        (0.034, "; they may differ by up to 4 %. Of those that cannot be told apart"),
        (None, "; by how much they may differ is not known. Of those that cannot be told apart"),
    ],
)
def test_a_tie_states_the_difference_that_stays_open(open_: float | None, words: str) -> None:
    base = suites_summary({"nginx": [[GOOD, ALSO_GOOD]]})
    found = tuple(
        replace(each, places=tuple(replace(place, may_differ=open_) for place in each.places))
        for each in base.rankings
    )
    summary = advised(replace(base, rankings=found))
    (finding,) = [f for f in summary.findings if f.code == "recommendation"]
    assert words in finding.text


def test_each_syntax_has_the_order_of_its_own_server() -> None:
    summary = advised(
        suites_summary({"nginx": [[GOOD], [ALSO_GOOD]], "node": [[ALSO_GOOD], [GOOD]]})
    )
    for id_, first in (
        ("emit-nginx", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("emit-apache", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("emit-node", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("emit-rwserve", "ECDHE-RSA-AES256-GCM-SHA384"),
    ):
        text = text_of(summary, id_)
        names = ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384")
        assert min(names, key=text.index) == first, id_
    assert len([f for f in summary.findings if f.code == "recommendation"]) == 2


def test_behind_a_front_the_front_is_the_one_to_configure() -> None:
    base = suites_summary({"nginx": [[GOOD], [ALSO_GOOD]]})
    fronted = tuple(replace(r, setting={**r.setting, "front": "haproxy"}) for r in base.rankings)
    summary = advised(replace(base, rankings=fronted))
    assert summary.recommendation is not None
    assert [each["server"] for each in summary.recommendation["servers"]] == ["haproxy"]


def test_the_table_has_every_suite_and_small_sizes_on_their_own() -> None:
    table, reasons = advised(suites_summary(ONE)).tables[-2:]
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
    summary = advised(summarise(made_run()))
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
    bare = replace(summarise(made_run(quick=True)), rankings=())
    summary = advised(bare)
    assert summary.texts == ()
    assert summary.recommendation is None
    assert summary.findings == bare.findings


@pytest.mark.parametrize("hostile", ["</script><b>", "x\x1b]0;owned\x07"])
def test_page_and_terminal_show_advice_and_stay_sanitised(hostile: str) -> None:
    summary = advised(summarise(made_run(World(software=hostile), quick=True)))
    page = render_html(summary)
    assert "ssl_ecdh_curve" in page
    assert "</script><b>" not in page
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(render_text(summary))
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert "SSL_DISABLE_CURVE_P521=1" in printed
    assert "\x1b" not in printed
