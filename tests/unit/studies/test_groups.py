"""The study of groups: its ratios beside ours, of groups, two servers and an offloader."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from factories.run import RSA_EXTRA_US, SERVER_US, TrialChange, World, made_run
from factories.saturated import saturated
from factories.worded import summarise
from tlslab.domain.errors import UsageError
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Finding, Summary
from tlslab.domain.setting import LEADING
from tlslab.experiment import load, with_levels
from tlslab.report import render_html

FASTEST = "tls=1.3,key=ecdsa-p256,group=X25519"


def summary_of(name: str, world: World, **levels: tuple[str, ...]) -> Summary:
    experiment = with_levels(load(name, "quick"), levels)
    return summarise(made_run(world, experiment=replace(experiment, blocks=10)))


def findings(summary: Summary, code: str) -> list[Finding]:
    return [finding for finding in summary.findings if finding.code == code]


def test_published_ratios_stand_beside_cells_with_the_studys_key(full_summary: Summary) -> None:
    rates = [c for c in full_summary.comparisons if c.estimate == "connections_per_s"]
    ratios = {c.candidate: c.published.ratio for c in rates if c.published is not None}
    assert set(ratios) == {
        f"tls={tls},key=ecdsa-p256,group={group}"
        for group in ("P-256", "X448", "P-384", "P-521")
        for tls in ("1.2", "1.3")
    }
    assert ratios[FASTEST.replace("X25519", "P-384")] == pytest.approx(369.89 / 833.76)


def test_the_effects_of_server_and_key_are_apart() -> None:
    """Apache costs 1.2 times as much; RSA costs 521 microseconds more."""
    summary = summary_of("servers", World(slower={"apache": 1.2}))
    (found,) = findings(summary, "server_and_key")
    assert found.text.startswith("TLS 1.2, P-256: nginx with ECDSA P-256 carries 3.5")
    server, key, whole = (found.values[name] for name in ("server", "key", "whole"))
    assert server.low < 1.2 < server.high
    of_key = (SERVER_US["P-256"] + RSA_EXTRA_US) / SERVER_US["P-256"]
    assert key.low < of_key < key.high
    assert server.value * key.value == pytest.approx(whole.value)
    assert not found.values["apart"]
    assert [name for name, _ in found.values["servers"]] == ["ECDSA P-256", "RSA-2048"]
    assert [name for name, _ in found.values["keys"]] == ["nginx", "apache"]
    (study,) = findings(summary, "server_and_key_published")
    assert "1.26 between the best of its two servers, and 1.24 with P-256" in study.text
    table = next(each for each in summary.tables if each.id == "server-and-key")
    assert [row[0] for row in table.rows] == ["TLS 1.2, X25519", "TLS 1.2, P-256"]
    # The study has no ratio between servers with the same key.
    assert not [each for each in summary.comparisons if each.published is not None]


def test_a_key_that_one_server_bears_worse_is_said() -> None:
    def cost_us(factors: Mapping[str, str]) -> float:
        base = 300.0 if factors["server"] == "apache" else 255.0
        rsa = factors["key"].startswith("rsa")
        return base * (1.0 if not rsa else 3.0 if factors["server"] == "apache" else 2.0)

    (found,) = findings(summary_of("servers", World(cost_us=cost_us)), "server_and_key")
    assert found.text.endswith("The key's effect is not the same on both servers.")


@pytest.mark.parametrize(
    ("levels", "change"),
    [({"key": ("rsa-2048",)}, None), ({}, saturated({"X25519", "P-256"}))],
)
def test_without_all_four_rates_the_effects_are_not_split(
    levels: dict[str, tuple[str, ...]], change: TrialChange | None
) -> None:
    world = World() if change is None else World(change=change)
    summary = summary_of("servers", world, **levels)
    assert not findings(summary, "server_and_key")
    assert "server-and-key" not in {table.id for table in summary.tables}


def test_repetitions_stand_beside_the_studys(full_summary: Summary) -> None:
    table = next(each for each in full_summary.tables if each.id == "repetitions")
    study, *rows = table.rows
    assert study[-3:] == (27.5, 30.5, 30.5 / 27.5)
    of = {row[0]: row for row in rows}
    row = of["TLS 1.2, ECDSA P-256, P-384"]
    assert row[1] == "2.25 to 2.30"
    ours = row[2]
    assert isinstance(ours, Estimate)
    assert ours.low is not None
    assert ours.high is not None
    assert ours.low < SERVER_US["P-384"] / SERVER_US["X25519"] < ours.high
    # The study has no figure of RSA on its newer server, nor of hybrid groups.
    assert {of[name][1] for name in of if "RSA" in str(name) or "MLKEM" in str(name)} == {None}
    rates = next(
        cell.ab.requests_per_s
        for cell in full_summary.cells
        if cell.key == FASTEST and cell.ab is not None
    )
    shortest, longest = of["TLS 1.3, ECDSA P-256, X25519"][-3:-1]
    assert isinstance(shortest, float)
    assert isinstance(longest, float)
    assert shortest < 25_000 / rates < longest
    (found,) = findings(full_summary, "repetitions_published")
    assert found.cells == ("tls=1.2,key=ecdsa-p256,group=X25519",)
    assert found.text.endswith("The study's runs of one group took 27.5 to 30.5 s, 1.11 times.")


def test_the_processor_use_of_all_groups_is_one_figure(full_summary: Summary) -> None:
    drawn = [each for each in full_summary.figures if each.id.startswith(LEADING)]
    assert [each.title for each in drawn[:2]] == [
        f"Processor use over time, {side}: TLS 1.2, ECDSA P-256" for side in ("server", "client")
    ]
    assert len(drawn) == 8
    names = [series.name for series in drawn[0].series if not series.hollow]
    assert names == ["X25519", "P-256", "P-384", "P-521", "X448"]
    whole, kernel = drawn[0].series[:2]
    assert kernel.label == "X25519, in the kernel"
    use = full_summary.cell("tls=1.2,key=ecdsa-p256,group=X25519").cpu_over_time["server"]
    assert kernel.y == tuple(100 * each for each in use.system)
    assert whole.y == tuple(100 * sum(each) for each in zip(use.user, use.system, strict=True))
    text = render_html(full_summary)
    first, second, *_ = re.findall(r'id="figure-([a-z0-9-]+)"', text)
    assert (first, second) == ("setting-1-rate", drawn[0].id)


@pytest.mark.slow
def test_its_offloader_stands_beside_fronts_with_its_group() -> None:
    summary = summary_of("offload", World(slower={"haproxy": 0.95, "nginx": 1.5}))
    (found,) = findings(summary, "offload_published")
    assert "found 1.05 to 1.10 and 0.50: nginx as TLS offloader" in found.text
    ratios = {
        (cell.factors["front"], cell.factors["group"]): c.published.ratio
        for c in summary.comparisons
        if c.published is not None and c.estimate == "connections_per_s"
        for cell in [summary.cell(c.candidate)]
    }
    assert ratios == {
        ("none", "P-384"): pytest.approx(0.4436, abs=1e-4),
        ("haproxy", "P-384"): 0.5,
        ("nginx", "P-384"): 0.5,
    }
    other = summary_of("offload", World(), group=("X25519", "P-256"))
    assert findings(other, "offload")
    assert not findings(other, "offload_published")


def test_an_unknown_study_and_one_of_another_kind_are_refused() -> None:
    for name in ("nobody-1999", "coradiant-2001"):
        run = made_run(experiment=replace(load("groups", "quick"), published=name))
        with pytest.raises(UsageError, match="no published study"):
            summarise(run)
