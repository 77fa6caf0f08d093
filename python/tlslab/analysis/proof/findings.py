"""What a proof's numbers say beside its answer. Pure."""

from collections.abc import Iterator

from tlslab.model.finding import Finding
from tlslab.model.proof import Measure, Proof, ProofFigure
from tlslab.model.run import RunContents
from tlslab.model.wording import counted, percent

_COST = "server_cpu_us_per_connection"


def findings(contents: RunContents, proof: Proof) -> tuple[Finding, ...]:
    """Up to which share of returning clients it pays, what the probe saw, when the run ended."""
    return (*_pays(proof), *_alike(contents), *_ended(contents))


def _pays(proof: Proof) -> Iterator[Finding]:
    """The share of returning clients at which both cost the server the same.

    Only where new and returning clients are established to go different ways.
    """
    new, returning = _cost(proof, "new"), _cost(proof, "returning")
    if new is None or returning is None or {new.direction, returning.direction} != {"gain", "loss"}:
        return
    saved = new.before.value - new.after.value
    lost = returning.after.value - returning.before.value
    share = saved / (saved + lost)
    side = "at most" if new.direction == "gain" else "at least"
    other = "returning" if new.direction == "gain" else "new"
    yield Finding(
        "break_even",
        f"By the server's processor time the candidate pays as long as {side} {percent(share)} of "
        f"connections are returning clients': {other} ones cost more with it. The verdict takes "
        f"{percent(proof.settings.returning)} for granted (--returning).",
    )


def _cost(proof: Proof, measure: Measure) -> ProofFigure | None:
    return next((f for f in proof.figures if (f.measure, f.estimate) == (measure, _COST)), None)


def _alike(contents: RunContents) -> Iterator[Finding]:
    found = contents.environment.found
    if len(found) != 2:
        return
    offers = [
        (each.offered.versions, each.offered.suites, each.offered.groups, each.facts, each.resume)
        for each in found
    ]
    if offers[0] == offers[1]:
        yield Finding(
            "alike",
            "The probe sees the same versions, suites and groups with both, and the measured "
            "client negotiates the same: whatever differs is not seen in a handshake.",
        )


def _ended(contents: RunContents) -> Iterator[Finding]:
    if contents.experiment.stopping is None:
        return
    begun, most = 1 + max((t.block for t in contents.trials), default=-1), contents.plan.blocks
    if begun >= most:
        text = f"The run took all of its {counted(most, 'block')}."
    else:
        text = f"The run ended after {begun} of at most {most} blocks."
    yield Finding("ended", text)
