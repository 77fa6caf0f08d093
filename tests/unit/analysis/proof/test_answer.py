"""The data that a proof lacks if no measure may decide."""

from dataclasses import replace
from typing import Any

import pytest

from factories.proof import made_contents, made_proof, made_sides
from tlslab.analysis.proof.answer import answer
from tlslab.analysis.proof.deciding_ratios import figures, verdict_of
from tlslab.analysis.proof.sides import Sides
from tlslab.domain.finding import Answer, Lacking, Summary
from tlslab.domain.proof import Proof
from tlslab.domain.proof_settings import ProofSettings, needed
from tlslab.words import worded

MANAGED = ProofSettings("nginx", "Chromium 156", 0.05, 0.5)
LIVE = ProofSettings("https://a.test/", "Chromium 156", 0.05, 0.5, (), (), "apply", "revert")


def unsaturated(sides: Sides) -> Sides:
    """A proof without the server's processor time, on a server that was not at its limit."""
    rate = ("connections_per_s",)
    return Sides(
        *(
            replace(
                side,
                summary=replace(side.summary, unsaturated=rate),
                values={n: v for n, v in side.values.items() if "server_cpu" not in n},
            )
            for side in sides.both
        )
    )


def undecided(settings: ProofSettings) -> Lacking:
    sides = {name: unsaturated(each) for name, each in made_sides().items()}
    contents = made_contents(settings)
    found = figures(sides, 0.05)
    proof = Proof(settings, found, verdict_of(found, needed(contents.experiment)))
    lacking = answer(contents, proof).lacking
    assert lacking is not None
    assert lacking.code == "undecided"
    return lacking


def test_measures_without_a_deciding_ratio_have_a_reason_and_a_remedy() -> None:
    values = undecided(LIVE).values
    assert values["measures"]["connections"] == ["not the server's limit with the baseline"]
    assert values["needs_metrics"]


def test_a_managed_server_needs_no_metrics() -> None:
    assert not undecided(replace(LIVE, apply="", revert="")).values["needs_metrics"]


def proved(margin: float = MANAGED.margin, **more: Any) -> Summary:
    """A proof with its answer in words."""
    settings = replace(MANAGED, margin=margin)
    contents = made_contents(settings)
    found = figures(made_sides(**more), margin)
    proof = Proof(settings, found, verdict_of(found, needed(contents.experiment)))
    return worded(replace(made_proof(), answer=answer(contents, proof), proof=proof))


def answered(margin: float = MANAGED.margin, **more: Any) -> Answer:
    found = proved(margin, **more).answer
    assert found is not None
    return found


def test_no_difference_is_said_with_its_bound_and_both_intervals() -> None:
    (sentence,) = answered(rate_noise=0.2).sentences
    assert sentence.startswith(
        "No difference: more than 5 % of the server's processor time is excluded. The candidate "
    )
    assert sentence.count("times the server's processor time for ") == 2
    assert sentence.count("(95 %: ") == 2


@pytest.mark.parametrize(("margin", "said"), [(0.025, "2.5 %"), (0.034, "3.4 %"), (0.07, "7 %")])
def test_the_margin_is_said_as_it_was_given(margin: float, said: str) -> None:
    found = answered(margin, noise=0.003, rate_noise=0.2)
    assert found.sentences[0].startswith(f"No difference: more than {said} of the server's ")
    assert f"less than {said} counts as no difference" in found.confidence
    open_ = answered(margin, noise=0.2).lacking
    assert open_ is not None
    assert f"a difference of more than {said} is not excluded" in open_.why


def test_an_open_answer_names_the_blocks_that_settle_it() -> None:
    lacking = answered(noise=0.06, rate_noise=0.2).lacking
    assert lacking is not None
    assert (lacking.code, lacking.values["gains"]) == ("open", [])
    assert lacking.values["may_differ"] > 0
    assert lacking.command[-2] == "--blocks"
    assert 10 < int(lacking.command[-1]) < 100


def test_the_noise_of_a_run_that_ends_by_itself_is_not_taken_for_more() -> None:
    """Intervals that hold after every block are wider; that must not be taken for more noise."""
    wanted = []
    for anytime in (False, True):
        lacking = answered(noise=0.06, rate_noise=0.2, anytime=anytime, seed=5).lacking
        assert lacking is not None
        wanted.append(int(lacking.command[-1]))
    assert wanted[0] == wanted[1]


def test_fewer_than_five_blocks_are_dots() -> None:
    certainty = answered(blocks=4).certainty
    assert certainty is not None
    assert (certainty.code, certainty.values) == ("few_blocks", {"blocks": 4})
