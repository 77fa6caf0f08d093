"""From a whole run to its summary: the chosen values must come out."""

import json
import math
import re

import pytest

from factories.run import CLIENT_US, KERNEL_US, SERVER_US, TIME_SPREAD, World, made_run
from factories.worded import summarise
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Comparison, Summary
from tlslab.experiment import load, with_levels
from tlslab.lab.store import from_json, to_json


@pytest.fixture(name="full")
def _full(full_summary: Summary) -> Summary:
    return full_summary


def key(group: str, tls: str = "1.3", kind: str = "ecdsa-p256") -> str:
    return f"tls={tls},key={kind},group={group}"


def near(found: Estimate, truth: float) -> bool:
    """Whether the estimate is within one per cent of the truth, and its interval near the truth."""
    assert found.low is not None
    assert found.high is not None
    return abs(found.value / truth - 1) < 0.01 and found.low * 0.99 < truth < found.high * 1.01


@pytest.mark.parametrize("group", SERVER_US)
def test_costs_come_out_as_they_went_in(full: Summary, group: str) -> None:
    estimates = full.cell(key(group)).estimates
    assert near(estimates["server_cpu_us_per_connection"], SERVER_US[group])
    assert near(estimates["server_cpu_us_per_connection_system"], KERNEL_US)
    assert near(estimates["client_cpu_us_per_connection"], CLIENT_US[group])
    assert near(estimates["connections_per_s"], 0.985e6 / SERVER_US[group])
    median_ms = 16 * SERVER_US[group] / 985 * math.exp(-(TIME_SPREAD**2) / 2)
    assert near(estimates["service_ms_p50"], median_ms)
    assert estimates["server_busy"].value == pytest.approx(0.985, rel=0.01)


def test_every_estimate_has_unit_method_and_trials(full: Summary) -> None:
    for cell in full.cells:
        assert len(cell.estimates) == 15 + 16
        for estimate in cell.estimates.values():
            assert estimate.unit
            assert estimate.method
            assert estimate.n == cell.trials == 10


def comparison(summary: Summary, candidate: str, estimate: str) -> Comparison:
    found = [c for c in summary.comparisons if (c.candidate, c.estimate) == (candidate, estimate)]
    assert len(found) == 1
    return found[0]


def test_ratios_are_to_the_baseline_of_the_same_setting(full: Summary) -> None:
    found = comparison(full, key("P-384"), "server_cpu_us_per_connection")
    assert found.baseline == key("X25519")
    assert found.ratio == pytest.approx(SERVER_US["P-384"] / SERVER_US["X25519"], rel=0.01)
    assert found.verdict == "slower"
    assert found.n == 10
    rate = comparison(full, key("P-384"), "connections_per_s")
    assert rate.verdict == "slower"
    assert rate.ratio < 1


def test_a_ratio_of_estimates_is_the_ratio_that_is_reported(full: Summary) -> None:
    name = "connections_per_s"
    estimates = [full.cell(key(group)).estimates[name].value for group in ("P-521", "X25519")]
    reported = comparison(full, key("P-521"), name).ratio
    assert reported == pytest.approx(estimates[0] / estimates[1])


def test_cells_that_cannot_be_told_apart_share_their_ranks() -> None:
    costs = {**SERVER_US, "P-256": SERVER_US["X25519"]}
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "P-384")}
    experiment = with_levels(load("groups"), few)
    summary = summarise(made_run(World(server_us=costs, noise=0.02, seed=5), experiment=experiment))
    ranking = next(r for r in summary.rankings if r.estimate == "connections_per_s")
    places = {place.cell: (place.best, place.worst) for place in ranking.places}
    assert places == {key("X25519"): (1, 2), key("P-256"): (1, 2), key("P-384"): (3, 3)}
    answer = next(f for f in summary.findings if f.code == "answer")
    assert re.search(
        r"It shows no difference from (P-256|X25519) \([2-9] % at most\)\.", answer.text
    )


def test_the_kernels_share_is_explained(full: Summary) -> None:
    reported = [finding.text for finding in full.findings if finding.code == "kernel_share"]
    assert len(reported) == 4
    assert re.search(
        r"38 % \(95 %: 3[78] to 3[89]\) with X25519 and 15 % \(95 %: 1[45] to 1[56]\) with P-521",
        reported[0],
    )


def test_processor_use_over_time_adds_up(full: Summary) -> None:
    series = full.cell(key("X25519")).cpu_over_time
    assert sorted(series) == ["client", "server"]
    for each in series.values():
        assert len(each.at_s) == len(each.user) == len(each.system) == 10
    total = [u + s for u, s in zip(series["server"].user, series["server"].system, strict=True)]
    assert sum(total) / len(total) == pytest.approx(0.985, rel=0.02)


def test_an_external_server_has_no_cost_of_its_own() -> None:
    world = World(target="https://127.0.0.1:8443/", managed=False)
    summary = summarise(made_run(world, quick=True))
    cell = summary.cells[0]
    assert cell.verdict == "valid"
    assert "client_cpu_us_per_connection" in cell.estimates
    assert not any(name.startswith("server_") for name in cell.estimates)
    assert list(cell.cpu_over_time) == ["client"]
    assert {finding.code for finding in summary.findings} == {
        "answer",
        "repetitions_published",
        "too_short_for_steady_state",
    }


def test_a_summary_survives_json() -> None:
    summary = summarise(made_run(quick=True))
    text = json.dumps(to_json(summary), allow_nan=False)
    read = from_json(json.loads(text), Summary)
    # The values of codes are plain data.
    assert json.dumps(to_json(read)) == text
    assert (read.cells, read.comparisons) == (summary.cells, summary.comparisons)
