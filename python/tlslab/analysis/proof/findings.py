"""Findings of a proof beside its answer. Pure."""

from collections.abc import Iterator, Sequence

import numpy as np

from tlslab.analysis.compare import Measured
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.proof.sides import Sides, sides_of
from tlslab.analysis.stats.estimate import mean_interval
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.finding import Finding
from tlslab.domain.proof import Direction, Proof
from tlslab.domain.proof_settings import Measure, needed
from tlslab.domain.run import RunContents


def findings(contents: RunContents, proof: Proof, cells: Sequence[Measured]) -> tuple[Finding, ...]:
    """The break-even share of returning clients, the probe's observations, the end of the run."""
    pays = _pays(proof, cells)
    return (*pays, *_not_asked(contents), *_alike(contents), *_ended(contents))


def _pays(proof: Proof, cells: Sequence[Measured]) -> Iterator[Finding]:
    """The share of returning clients at which both configurations cost the server the same.

    Only if new and returning clients are established to change in opposite directions, and if the
    share's interval lies between none and all clients.
    """
    directions = {_direction(proof, "new"), _direction(proof, "returning")}
    sides = sides_of(cells, proof.settings.returning)
    if directions != {"gain", "loss"}:
        return
    share = break_even(sides["new"], sides["returning"])
    if share is None or share.low is None or share.high is None:
        return
    values = {
        "share": share,
        "at_most": _direction(proof, "new") == "gain",
        "assumed": proof.settings.returning,
    }
    yield Finding("break_even", values=values)


def break_even(new: Sides, returning: Sides) -> Estimate | None:
    """The share of returning clients at which both configurations cost the server the same.

    The mean of the shares of the blocks that have all four costs, with its interval. None with
    fewer than FEWEST blocks, and if the interval does not lie between 0 and 1.
    """
    costs = [side.values.get(SERVER_COST, {}) for each in (new, returning) for side in each.both]
    blocks = sorted(set.intersection(*map(set, costs)))
    shares = []
    for block in blocks:
        before, after, again, later = (each[block] for each in costs)
        saved, lost = before - after, later - again
        if saved + lost == 0:
            return None
        shares.append(saved / (saved + lost))
    if len(shares) < FEWEST:
        return None
    centre, ends, method = mean_interval(np.array(shares), "shares", new.baseline.anytime)
    if ends is None or not 0 < ends[0] <= ends[1] < 1:
        return None
    return Estimate(centre, *ends, len(shares), "share", f"by block; {method}")


def _direction(proof: Proof, measure: Measure) -> Direction | None:
    """The direction that the server's processor time establishes for a measure."""
    found = (
        f.direction for f in proof.figures if (f.measure, f.estimate) == (measure, SERVER_COST)
    )
    return next(found, None)


def _not_asked(contents: RunContents) -> Iterator[Finding]:
    if "requests" not in needed(contents.experiment):
        yield Finding("not_asked")


def _alike(contents: RunContents) -> Iterator[Finding]:
    found = contents.environment.found
    if len(found) != 2:
        return
    offers = [
        (each.offered.versions, each.offered.suites, each.offered.groups, each.facts, each.resume)
        for each in found
    ]
    if offers[0] == offers[1]:
        yield Finding("alike")


def _ended(contents: RunContents) -> Iterator[Finding]:
    if contents.experiment.stopping is None:
        return
    begun, most = 1 + max((t.block for t in contents.trials), default=-1), contents.plan.blocks
    yield Finding("ended", values={"blocks": begun, "planned_blocks": most})
