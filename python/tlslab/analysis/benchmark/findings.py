"""The findings and the answer of a benchmark: ratios of processors, and knees of curves."""

from collections.abc import Iterator, Sequence
from typing import Literal

from tlslab.analysis.benchmark.curves import Curve
from tlslab.analysis.benchmark.processors import Costs
from tlslab.analysis.compare import Measured
from tlslab.analysis.enough import FEWEST, again, minutes, too_few
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.benchmark import split_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPERATION, OPERATION_COST, OPERATIONS, SIGNERS_COST, quantile
from tlslab.domain.finding import Answer, Finding, Lacking, Statement, Tile, Values
from tlslab.domain.run import RunContents

# A knee is not established if throughput may still grow by more than this factor beyond it.
OPEN = 1.1

# If throughput may still grow by more than this factor, nothing is known about a knee.
UNKNOWN = 2.0

# A side with a smaller busy share was not the limit.
FULL = 0.8

_FEWEST_TILES = 3

# What is known of the growth of a curve's throughput: it has a knee, it grows to its end, it may
# grow by a little (`open`) or by more than UNKNOWN (`far`) beyond its knee; or nothing is known.
Growth = Literal["knee", "grows", "open", "far", "warming", "few", "unknown"]

_CODES: dict[Growth, str] = {"knee": "knee", "grows": "no_knee"}


def growth(curve: Curve) -> Growth:
    """What is known of the growth of a curve's throughput."""
    knee = curve.knee
    if knee is None:
        return "unknown"
    if knee.at.n < FEWEST:
        return "few"
    if curve.warming:
        return "warming"
    if knee.at_end:
        return "grows"
    gain = 0.0 if knee.gain is None else knee.gain
    return "far" if gain > UNKNOWN else "open" if gain > OPEN else "knee"


def findings(curves: Sequence[Curve], found: Sequence[Costs], processors: int) -> Iterator[Finding]:
    """The ratio of processors, then the knees, first those of curves through the cluster."""
    for each in found:
        yield _ratio(each)
    for curve in sorted(curves, key=lambda curve: curve.keys != "cluster"):
        if curve.knee is not None and curve.benchmark != "draw":
            code = _CODES.get(growth(curve), "knee_open")
            cells = tuple(cell.summary.key for cell in curve.cells.values())
            yield Finding(code, cells=cells, values=_knee(curve, processors))


def _knee(curve: Curve, processors: int) -> Values:
    threads, best = curve.best
    return {
        "curve": f"{curve.what}, {curve.name}",
        "growth": growth(curve),
        "at": curve.knee.at if curve.knee else None,
        "gain": curve.knee.gain if curve.knee else None,
        "best": best,
        "threads": threads,
        "processors": processors,
        "bare": curve.bare,
        "far": UNKNOWN,
    }


def split_findings(apart: Sequence[Curve]) -> Iterator[Finding]:
    """For each division of the processors between the sides: which side was the limit.

    `general` and `signing`: the share of a side's processors that was busy.
    """
    for curve in apart:
        (threads, cell), *_ = sorted(curve.cells.items(), reverse=True)
        sides = split_of(curve.split)
        assert sides is not None
        general, signing = (
            _busy(cell, cost, processors)
            for cost, processors in zip((OPERATION_COST, SIGNERS_COST), sides, strict=True)
        )
        if general is None or signing is None:
            continue
        values = {
            "curve": f"{curve.what}, {curve.name}",
            "threads": threads,
            "rate": cell.summary.estimates.get(OPERATIONS),
            "general": general,
            "signing": signing,
            "limit": _limit(general, signing),
            "reservation": "warming" if curve.warming else "few" if general.n < FEWEST else "",
        }
        yield Finding("split_limit", cells=(cell.summary.key,), values=values)


def _busy(cell: Measured, cost: str, processors: int) -> Estimate | None:
    """The busy share of a side's processors: rate times cost, paired by fork."""
    rates, costs = cell.values.get(OPERATIONS, {}), cell.values.get(cost, {})
    shares = [rates[block] * costs[block] / (processors * 1e6) for block in rates if block in costs]
    return estimate(shares, "share") if shares else None


def _limit(general: Estimate, signing: Estimate) -> str:
    """The side whose share lies above the other's by intervals; `open` if none does.

    `neither`: the higher share is below FULL, so that processors were not the limit.
    """
    if max(general.value, signing.value) < FULL:
        return "neither"
    if general.low is not None and signing.high is not None and general.low > signing.high:
        return "general"
    if signing.low is not None and general.high is not None and signing.low > general.high:
        return "signing"
    return "open"


def _ratio(costs: Costs) -> Finding:
    values = {
        "curve": f"{costs.curve.what}, {costs.curve.name}",
        "ratio": costs.ratio,
        "reservation": reservation(costs),
    }
    return Finding("processor_ratio", cells=costs.cells, values=values)


def reservation(costs: Costs) -> str:
    """The reason not to rely on a ratio: `no_interval`, `few`, `warming`; empty for a reliable
    one.
    """
    if costs.ratio.low is None or costs.ratio.high is None:
        return "no_interval"
    if costs.ratio.n < FEWEST:
        return "few"
    return "warming" if costs.curve.warming else ""


def answer(
    contents: RunContents, curves: Sequence[Curve], found: Sequence[Finding], processors: int
) -> Answer:
    """The answer from the first curve with several thread counts, preferably of the cluster.

    Without such a curve, from the ratios of processors.
    """
    question = contents.experiment.title
    drawn = [c for c in curves if c.benchmark != "draw" and len(c.cells) > 1]
    drawn.sort(key=lambda curve: curve.keys != "cluster")
    of_answer = [drawn[0]] if drawn else curves
    n = min(
        (len(c.values[OPERATIONS]) for curve in of_answer for c in curve.cells.values()), default=0
    )
    certainty = Statement("certainty", {"n": n, "intervals": bool(drawn)})
    ratios = [Statement(e.code, e.values) for e in found if e.code == "processor_ratio"]
    if drawn:
        lacking = _lacking(contents, drawn[0], n)
        said = [Statement("growth", _knee(drawn[0], processors)), *ratios]
    elif not ratios:
        bare = Lacking(code="no_curve" if n else "no_benchmark")
        return Answer(question, lacking=too_few(contents, n) if 0 < n < FEWEST else bare)
    else:
        lacking, said = too_few(contents, n) if n < FEWEST else None, ratios
    return Answer(
        question=question,
        statements=() if lacking else tuple(said[:2]),
        certainty=certainty,
        lacking=lacking,
        tiles=_tiles(drawn[0]) if drawn and not lacking else (),
        figure=f"throughput-{drawn[0].benchmark}" if drawn else "composition",
    )


def _lacking(contents: RunContents, curve: Curve, n: int) -> Lacking | None:
    if n < FEWEST:
        return too_few(contents, n)
    known = growth(curve)
    if known in ("knee", "grows", "open"):
        return None
    lacking = Lacking(code="growth_unknown", values=_knee(curve, 0))
    if known != "far":
        return lacking
    command = again(contents, "--blocks", str(2 * n))
    return Lacking("", command, minutes(contents, 2.0), code=lacking.code, values=lacking.values)


def _tiles(curve: Curve) -> tuple[Tile, ...]:
    threads, best = curve.best
    estimates = curve.cells[threads].summary.estimates
    wanted = (
        (OPERATION_COST, "Processor time of the process"),
        (SIGNERS_COST, "Processor time of the signers"),
        (quantile(OPERATION, 99), "Time of an operation, p99"),
    )
    tiles = [Tile(f"Operations/s at {threads} threads", best)]
    if curve.knee is not None and not curve.knee.at_end:
        tiles.append(Tile("Threads that are enough", curve.knee.at))
    tiles += [Tile(title, estimates[name]) for name, title in wanted if name in estimates]
    return tuple(tiles) if len(tiles) >= _FEWEST_TILES else ()
