"""Calibrations with other orders and subsets of levels: the order decides no cost."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from factories.costs import made_calibration, true_cost
from factories.primitives import made_primitives
from factories.worded import summarise
from tlslab.analysis.compare import Measured
from tlslab.analysis.costs.model import CostModel, fit
from tlslab.analysis.costs.summary import calibration
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.experiment import Design, Experiment
from tlslab.domain.finding import CellSummary
from tlslab.experiment import load, with_levels
from tlslab.experiment.cells import contradiction, make_cells
from tlslab.experiment.costs import identifying

CALIBRATE = load("calibrate")

# The levels of a calibration, in any order, some left out; and those of a mix.
LEVELS = {
    factor.name: st.permutations(factor.levels).flatmap(
        lambda order: st.integers(1, len(order)).map(lambda n: tuple(order[:n]))
    )
    for factor in CALIBRATE.factors
}
MIXES = {
    **{factor.name: st.sampled_from(factor.levels) for factor in CALIBRATE.factors},
    "resumed": st.sampled_from(("0%", "30%", "100%")),
    "requests": st.sampled_from(("1", "4", "16")),
    "document_bytes": st.sampled_from(("1024", "4096", "262144")),
}


def fitted(experiment: Experiment) -> CostModel | None:
    """The model of a calibration whose cells cost exactly what their parts add up to."""
    found = []
    for cell in make_cells(experiment)[0]:
        if dict(cell.factors) in list(experiment.fitted()):
            summary = CellSummary(cell.key, cell.factors, "valid", (), 1, {})
            found.append(Measured(summary, {SERVER_COST: {0: true_cost(cell.factors)}}))
    return fit(found, experiment)


@settings(max_examples=100, deadline=None)
@given(st.fixed_dictionaries(LEVELS), st.fixed_dictionaries(MIXES))
def test_an_identified_mix_has_its_cost_whatever_the_order(
    levels: Mapping[str, tuple[str, ...]], wanted: Mapping[str, str]
) -> None:
    experiment = with_levels(CALIBRATE, levels)
    mix = experiment.as_planned(wanted)
    assume(contradiction(experiment, mix) is None)
    model = fitted(experiment)
    if model is not None and not model.unknown(mix):
        assert model.cost(mix).value == pytest.approx(true_cost(mix), rel=1e-6)
        return
    again = fitted(with_levels(experiment, identifying(experiment, mix)))
    assert again is not None
    assert again.unknown(mix) == ()
    assert again.cost(mix).value == pytest.approx(true_cost(mix), rel=1e-6)


ORDERS = (("1.2", "1.3"), ("1.3", "1.2"))


@pytest.mark.parametrize("tls", ORDERS)
def test_the_bytes_of_either_version_have_the_cost_of_their_cipher(tls: tuple[str, ...]) -> None:
    keys = ("rsa-2048", "ecdsa-p256")
    made = made_calibration(noise=0.0, quick=True, levels={"tls": tls, "key": keys})
    model = calibration(made).model
    assert model is not None
    assert model.merged == ()
    assert model.part("kB sent").value == pytest.approx(0.35, rel=1e-2)


def test_a_mix_is_refused_by_the_parts_that_only_their_sum_is_known_of() -> None:
    one = {"document_bytes": ("1024",), "suite": CALIBRATE.levels("suite")[:1]}
    experiment = with_levels(CALIBRATE, one)
    experiment = replace(experiment, design=Design())
    model = fitted(experiment)
    assert model is not None
    assert model.merged == ("request", "kB sent")
    assert model.unknown({**model.centre, "document_bytes": "4096"}) == ("request", "kB sent")
    assert model.unknown({**model.centre, "requests": "8"}) == ()


def test_bytes_far_above_their_encryption_are_implausible() -> None:
    made = made_calibration(noise=0.01)
    for times, expected in ((1.0, 0), (0.1, 1)):
        where = replace(made.environment, primitives=made_primitives(times=times))
        contents = replace(made, environment=where)
        found = calibration(contents).implausible
        assert list(found) == ["TLS_AES_256_GCM_SHA384: kB sent"][:expected]
        summary = summarise(contents)
        codes = [each.code for each in summary.findings]
        assert ("implausible_bytes" in codes) == bool(expected)
        assert summary.answer is not None
        assert (summary.answer.lacking is not None) == bool(expected)
