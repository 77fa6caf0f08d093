"""The study of groups: its ratios beside ours, of groups, two servers and an offloader."""

from dataclasses import replace

import pytest

from factories.run import World, made_run
from factories.worded import summarise
from tlslab.domain.errors import UsageError
from tlslab.domain.finding import Finding, Summary
from tlslab.experiment import load, with_levels

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


@pytest.mark.slow
def test_its_two_servers_stand_beside_an_ecdsa_server_ahead_of_an_rsa_one() -> None:
    ahead = summary_of("servers", World(slower={"apache": 1.2}))
    (found,) = findings(ahead, "servers_published")
    assert found.cells == findings(ahead, "servers")[0].cells
    assert found.text.startswith("The study found 1.26 between its two servers: Domino 12")
    behind = summary_of("servers", World(slower={"nginx": 4.0}))
    assert findings(behind, "servers")
    assert not findings(behind, "servers_published")


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
