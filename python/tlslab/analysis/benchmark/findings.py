"""The findings of a benchmark: sentences on its curves, costs and faults."""

from collections.abc import Iterator, Sequence

from tlslab.analysis.benchmark.curves import Curve
from tlslab.analysis.benchmark.processors import Costs
from tlslab.analysis.enough import FEWEST
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Finding

# A knee is not established if throughput may still grow by more than this factor beyond it.
OPEN = 1.1

# If throughput may still grow by more than this factor, nothing is known about a knee.
UNKNOWN = 2.0

# The reason that a curve in warm-up gives no finding.
STILL_WARMING = "its processes were still warming up"


def findings(curves: Sequence[Curve], found: Sequence[Costs], processors: int) -> Iterator[Finding]:
    """The ratio of processors, then the knees, first those of curves through the cluster."""
    for each in found:
        yield _ratio(each)
    for curve in sorted(curves, key=lambda curve: curve.keys != "cluster"):
        if curve.knee is not None and curve.benchmark != "draw":
            yield _knee(curve, processors)


def _knee(curve: Curve, processors: int) -> Finding:
    assert curve.knee is not None
    knee = curve.knee
    _, best = curve.best
    cells = tuple(cell.summary.key for cell in curve.cells.values())
    where = f"{curve.what}, {curve.name}"
    unknown = f"{where}: where throughput stops growing is not known"
    if knee.at.n < FEWEST:
        text = f"{unknown}: fewer than {FEWEST} blocks carry no sentence."
        return Finding("knee_open", text, cells)
    if curve.warming:
        text = f"{unknown}: {STILL_WARMING}. Warm up for longer."
        return Finding("knee_open", text, cells)
    if knee.at_end:
        which = "the most that have a result" if curve.bare else "the most tried"
        text = f"{where}: throughput still grew at {knee.at.value:g} threads, {which}"
        return Finding("no_knee", f"{text}{curve.without_result}.", cells)
    if knee.gain is not None and knee.gain > UNKNOWN:
        text = (
            f"{unknown}: beyond {_threads(knee.at)} it may still be more than {UNKNOWN:g} times as "
            "high. Run more blocks."
        )
        return Finding("knee_open", text, cells)
    if knee.gain is not None and knee.gain > OPEN:
        text = (
            f"{where}: beyond {_threads(knee.at)} no gain is detectable, but up to "
            f"{knee.gain - 1:.0%} cannot be excluded: run more blocks."
        )
        return Finding("knee_open", text, cells)
    gain = "" if knee.gain is None else f" (at most {max(0.0, knee.gain - 1):.1%})"
    text = (
        f"{where}: beyond {_threads(knee.at)} no gain is detectable{gain}; the most is "
        f"{best.value:,.0f}/s, on {processors} processors{curve.without_result}."
    )
    return Finding("knee", text, cells)


def _threads(at: Estimate) -> str:
    words = f"{at.value:g} thread{'' if at.value == 1 else 's'}"
    return words if at.low is None or at.low == at.high else f"{words} ({at.low:g} to {at.high:g})"


def _ratio(costs: Costs) -> Finding:
    ratio, curve = costs.ratio, costs.curve
    interval = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    text = (
        f"{curve.what}, {curve.name}: one general processor keeps {ratio.value:.2f}{interval} "
        f"signing processors busy{reservation(costs)}."
    )
    return Finding("processor_ratio", text, costs.cells)


def reservation(costs: Costs) -> str:
    """The reason not to rely on a ratio, after a comma; empty for a reliable one."""
    ratio = costs.ratio
    if ratio.low is None or ratio.high is None:
        return ", without an interval"
    if ratio.n < FEWEST:
        return f", from fewer than {FEWEST} forks"
    return f", while {STILL_WARMING}" if costs.curve.warming else ""
