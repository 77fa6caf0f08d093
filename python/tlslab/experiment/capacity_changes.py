"""Changes by options in the stages of a capacity experiment."""

from dataclasses import replace
from typing import Any

from tlslab.domain.capacity import CapacityPlan
from tlslab.experiment.short import LEVELS, short, with_length

# A shortened experiment: its repetitions, the connections up to which it searches its maximum, and
# the largest number of connections of an open loop.
TRIALS = 1
SEARCH_UP_TO = 16
IN_FLIGHT = 200

# The stages whose windows are measurements rather than searches.
_MEASURED = ("maximum", "open_loop", "remedies")


def with_blocks(plan: CapacityPlan, blocks: int) -> CapacityPlan:
    """The stages with their measurements repeated N times."""
    changes: dict[str, Any] = {
        "maximum": replace(plan.maximum, trials=blocks, most=max(blocks, plan.maximum.most)),
        "open_loop": replace(plan.open_loop, trials=blocks),
    }
    if plan.remedies is not None:
        changes["remedies"] = replace(plan.remedies, trials=blocks)
    return replace(plan, **changes)


def with_seconds(plan: CapacityPlan, seconds: float) -> CapacityPlan:
    """The stages with measurements of this length."""
    stages = {name: getattr(plan, name) for name in _MEASURED}
    new = {
        name: replace(stage, window=with_length(stage.window, round(seconds * 1000)))
        for name, stage in stages.items()
        if stage is not None
    }
    return replace(plan, **new)


def shortened(plan: CapacityPlan) -> CapacityPlan:
    """The stages with the fewest levels and repetitions and the shortest windows."""
    search, maximum, open_loop = plan.search, plan.maximum, plan.open_loop
    first = min(search.first, SEARCH_UP_TO)
    changes: dict[str, Any] = {
        "search": replace(
            search,
            first=first,
            most=min(search.most, SEARCH_UP_TO),
            window=short(search.window),
            repeats=1,
        ),
        "maximum": replace(maximum, trials=TRIALS, most=TRIALS, window=short(maximum.window)),
        "open_loop": replace(
            open_loop,
            fractions=open_loop.fractions[:LEVELS],
            trials=TRIALS,
            connections=min(open_loop.connections, IN_FLIGHT),
            window=short(open_loop.window),
        ),
        "fresh_server": False,
        # Its windows are as long as the objective asks for.
        "within": None,
    }
    if plan.warm_up is not None:
        rules = plan.warm_up
        steady = min(rules.steady, 2)
        changes["warm_up"] = replace(rules, steady=steady, most=steady, window=short(rules.window))
    if plan.remedies is not None:
        changes["remedies"] = replace(
            plan.remedies,
            resume_ratios=plan.remedies.resume_ratios[:LEVELS],
            requests_per_connection=plan.remedies.requests_per_connection[:LEVELS],
            trials=TRIALS,
            window=short(plan.remedies.window),
        )
    if plan.validation is not None:
        rules_ = plan.validation
        changes["validation"] = replace(
            rules_, fractions=rules_.fractions[:1], window=short(rules_.window)
        )
    return replace(plan, **changes)
