"""The cost model: parts, fit, intervals, and the check on mixes that are held out."""

import math

import numpy as np
import pytest

from factories.costs import (
    MORE,
    made_calibration,
    true_cost,
)
from tlslab import analysis
from tlslab.analysis.compare import Measured
from tlslab.analysis.costs.cost_parts import parts_of
from tlslab.analysis.costs.model import checks, fit
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import calibration
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.finding import CellSummary
from tlslab.experiment import load

CALIBRATE = load("calibrate")
MIDDLE = CALIBRATE.centre
MIX = {**MIDDLE, "resumed": "60%", "requests": "8", "document_bytes": "4096"}


def cells(noise: float, blocks: int, rng: np.random.Generator) -> list[Measured]:
    """The cells of the fit, with noise of each trial and noise that the cells of a block share."""
    shared = rng.normal(0, noise, blocks)
    found = []
    for levels in CALIBRATE.fitted():
        logs = shared + rng.normal(0, noise, blocks)
        values = (true_cost(levels) * np.exp(logs)).tolist()
        summary = CellSummary(str(levels), levels, "valid", (), blocks, {})
        found.append(Measured(summary, {SERVER_COST: dict(enumerate(values))}))
    return found


def test_a_mix_has_handshakes_by_share_and_bytes_by_request() -> None:
    assert parts_of(MIX, CALIBRATE) == {
        "full handshake": pytest.approx(0.4),
        "resumed handshake": pytest.approx(0.6),
        "request": 8.0,
        "kB sent": pytest.approx(32.768),
    }


def test_a_resumed_connection_has_no_signature_but_a_key_exchange() -> None:
    other = {**MIX, "key": "rsa-2048", "group": "P-384", "resumed": "100%"}
    assert "RSA-2048" not in parts_of(other, CALIBRATE)
    assert parts_of(other, CALIBRATE)["P-384"] == 1.0


def test_a_resumed_connection_of_tls_1_2_has_no_key_exchange() -> None:
    other = {**MIX, "tls": "1.2", "group": "P-384", "resumed": "75%"}
    assert parts_of(other, CALIBRATE)["P-384"] == pytest.approx(0.25)


@pytest.mark.simulation
def test_the_interval_of_a_mix_covers_its_cost() -> None:
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(1000):
        model = fit(cells(0.02, 6, rng), CALIBRATE)
        assert model is not None
        found = model.cost(MIX)
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= true_cost(MIX) <= found.high
    # 95 %, within three standard errors of 1,000 simulations.
    assert abs(missed / 1000 - 0.05) <= 3 * math.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.simulation
def test_a_small_part_is_found_without_bias() -> None:
    """P-256 costs 9 µs more than X25519, with noise of twice as much in each block."""
    rng = np.random.default_rng(8)
    models = [fit(cells(0.02, 6, rng), CALIBRATE) for _ in range(300)]
    found = [model.part("P-256") for model in models if model is not None]
    values = np.array([part.value for part in found])
    assert abs(values.mean() - MORE["P-256"]) <= 4 * values.std() / math.sqrt(len(values))
    inside = sum(p.low <= MORE["P-256"] <= p.high for p in found if p.low and p.high)
    assert inside / len(found) >= 0.91


def test_a_level_that_was_not_measured_is_unknown() -> None:
    model = fit(cells(0.01, 3, np.random.default_rng(2)), CALIBRATE)
    assert model is not None
    assert model.unknown({**MIX, "group": "P-521"}) == ("P-521",)
    assert model.unknown({**MIX, "tls": "1.2", "suite": "by-version"}) == (
        "TLS 1.2: resumed handshake",
    )
    assert model.unknown(MIX) == ()


def test_parts_that_no_cell_tells_apart_are_named() -> None:
    few = [cell for cell in cells(0.01, 3, np.random.default_rng(3))
           if cell.summary.factors["document_bytes"] == MIDDLE["document_bytes"]]  # fmt: skip
    model = fit(few, CALIBRATE)
    assert model is not None
    assert {"request", "kB sent"} <= set(model.merged)


def test_a_block_without_a_cell_that_the_fit_needs_is_left_out() -> None:
    found = cells(0.01, 4, np.random.default_rng(4))
    without = next(cell for cell in found if cell.summary.factors["group"] == "P-384")
    values = without.values[SERVER_COST]
    assert isinstance(values, dict)
    del values[2]
    model = fit(found, CALIBRATE)
    assert model is not None
    assert model.blocks == (0, 1, 3)


def test_no_cells_give_no_model() -> None:
    assert fit([], CALIBRATE) is None


def test_mixes_that_were_held_out_did_not_take_part_in_the_fit() -> None:
    found = calibration(made_calibration())
    assert len(found.held_out) == 6
    assert all(cell.summary.factors["resumed"] in ("0%", "100%") for cell in found.fitted)
    assert all(check.error < 0.05 for check in found.checks)


def test_a_model_that_is_off_is_not_good() -> None:
    off = calibration(made_calibration(noise=0.01, off=1.2))
    worst = max(off.checks, key=lambda check: check.error)
    assert worst.ratio.value == pytest.approx(1 / 1.2, rel=0.05)
    summary = analysis.summarise(made_calibration(noise=0.01, off=1.2))
    error = next(f.values for f in summary.findings if f.code == "model_error")
    assert (error["error"], error["good"]) == (worst.error, False)


def test_the_summary_has_the_costs_of_parts_and_a_model_that_is_good() -> None:
    summary = analysis.summarise(made_calibration(noise=0.01))
    values = {finding.code: finding.values for finding in summary.findings}
    assert "full handshake" in values["cost_of_parts"]["parts"]
    assert values["model_error"]["good"]
    assert [table.id for table in summary.tables] == ["parts", "held-out"]
    assert summary.comparisons == ()


@pytest.mark.simulation
def test_a_plan_covers_a_mix_that_the_parts_do_not_add_up_to() -> None:
    """Mixes cost 5 % more than their parts; a held-out mix shows by how much, with noise.

    The point error of that check is as often below the model's error as above it. The end of its
    interval is not.
    """
    rng = np.random.default_rng(9)
    off, noise, blocks, runs = 1.05, 0.03, 6, 400
    held_out = {**MIX, "requests": "4"}
    covered = 0
    for _ in range(runs):
        model = fit(cells(noise, blocks, rng), CALIBRATE)
        assert model is not None
        costs = off * true_cost(held_out) * np.exp(rng.normal(0, noise, blocks))
        summary = CellSummary("held out", held_out, "valid", (), blocks, {})
        mix = Measured(summary, {SERVER_COST: dict(enumerate(costs.tolist()))})
        found = size(model, checks(model, [mix]), MIX, Bounds(0.8, None), processors=1).cost
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= off * true_cost(MIX) <= found.high
    assert covered / runs >= 0.95
