"""What a proof lacks when nothing may decide."""

from dataclasses import replace

from factories.proof import made_contents, made_sides
from tlslab.analysis.proof.answer import answer
from tlslab.analysis.proof.figures import figures, verdict_of
from tlslab.analysis.proof.sides import Sides
from tlslab.model.proof import Proof, ProofSettings, needed

LIVE = ProofSettings("https://a.test/", "Chromium 156", 0.05, 0.5, (), (), "apply", "revert")


def unsaturated(sides: Sides) -> Sides:
    """Without the server's processor time, of a server that was not at its limit."""
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


def why(settings: ProofSettings) -> str:
    sides = {name: unsaturated(each) for name, each in made_sides().items()}
    contents = made_contents(settings)
    found = figures(sides, 0.05)
    proof = Proof(settings, found, verdict_of(found, needed(contents.experiment)))
    lacking = answer(contents, proof).lacking
    assert lacking is not None
    return lacking.why


def test_figures_that_may_not_decide_say_why_and_what_helps() -> None:
    said = why(LIVE)
    assert "connections (not the server's limit with the baseline)" in said
    assert "--server-metrics URL" in said


def test_a_managed_server_needs_no_metrics() -> None:
    assert "--server-metrics" not in why(replace(LIVE, apply="", revert=""))
