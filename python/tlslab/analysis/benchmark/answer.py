"""The answer of a benchmark: the threads beyond which throughput stops growing, and the cause."""

from collections.abc import Sequence

from tlslab.analysis.benchmark.curves import Curve
from tlslab.analysis.benchmark.findings import OPEN, STILL_WARMING, UNKNOWN
from tlslab.analysis.enough import DOTS_ONLY, FEWEST, again, minutes, too_few
from tlslab.domain.estimates import OPERATION, OPERATION_COST, OPERATIONS, SIGNERS_COST, quantile
from tlslab.domain.finding import Answer, Finding, Lacking, Tile
from tlslab.domain.run import RunContents
from tlslab.domain.wording import counted, difference, figure

_FEWEST_TILES = 3


def answer(
    contents: RunContents, curves: Sequence[Curve], found: Sequence[Finding], processors: int
) -> Answer:
    """The answer from the first curve with several thread counts, preferably of the cluster."""
    question = contents.experiment.title
    drawn = [c for c in curves if c.benchmark != "draw" and len(c.cells) > 1]
    drawn.sort(key=lambda curve: curve.keys != "cluster")
    if not drawn:
        return _without_curve(contents, curves, found)
    curve = drawn[0]
    n = min(len(cell.values[OPERATIONS]) for cell in curve.cells.values())
    lacking = _lacking(contents, curve, n)
    sentences = () if lacking else (_knee(curve, processors), *_ratio(found))
    confidence = f"{counted(n, 'block')}, a fresh process for each trial"
    return Answer(
        question=question,
        sentences=sentences[:2],
        confidence=f"{confidence}: {DOTS_ONLY}" if n < FEWEST else f"{confidence}; 95 % intervals",
        lacking=lacking,
        tiles=() if lacking else _tiles(curve),
        figure=f"throughput-{curve.benchmark}",
    )


def _without_curve(
    contents: RunContents, curves: Sequence[Curve], found: Sequence[Finding]
) -> Answer:
    """The answer from the ratio of processors, if no benchmark has several numbers of threads."""
    question = contents.experiment.title
    n = min(
        (len(c.values[OPERATIONS]) for curve in curves for c in curve.cells.values()), default=0
    )
    ratios = tuple(each.text for each in found if each.code == "processor_ratio")[:2]
    confidence = f"{counted(n, 'block')}, a fresh process for each trial"
    if not ratios:
        return Answer(question, (), "", Lacking("No benchmark has a result: the warnings say why."))
    lacking = too_few(contents, n) if n < FEWEST else None
    return Answer(question, () if lacking else ratios, confidence, lacking, (), "composition")


def _lacking(contents: RunContents, curve: Curve, n: int) -> Lacking | None:
    if n < FEWEST:
        return too_few(contents, n)
    knee = curve.knee
    if knee is None:
        return Lacking(f"Where throughput stops growing is not known: {_name(curve)}.")
    if curve.warming:
        why = f"Where throughput stops growing is not known: {STILL_WARMING}. Warm up for longer."
        return Lacking(why)
    if not knee.at_end and knee.gain is not None and knee.gain > UNKNOWN:
        why = (
            f"Where throughput stops growing is not known: beyond {knee.at.value:g} threads it may "
            f"still be more than {UNKNOWN:g} times as high."
        )
        return Lacking(why, again(contents, "--blocks", str(2 * n)), minutes(contents, 2.0))
    return None


def _name(curve: Curve) -> str:
    return f"{curve.what}, {curve.name}"


def _knee(curve: Curve, processors: int) -> str:
    """The threads beyond which throughput stops growing, and the highest throughput."""
    assert curve.knee is not None
    knee = curve.knee
    threads, best = curve.best
    most = f"{figure(best.value)}/s at {counted(threads, 'thread')}"
    on = f"on {counted(processors, 'processor')}"
    if knee.at_end:
        tried = "that have a result" if curve.bare else "tried"
        still = f"throughput still grew at the most threads {tried}"
        return f"{_name(curve)}: {still}, {most} {on}{curve.without_result}."
    at = counted(int(knee.at.value), "thread")
    left = "" if knee.gain is None else f" ({difference(max(0.0, knee.gain - 1))} at most)"
    hedge = "not excluded" if knee.gain is not None and knee.gain > OPEN else ""
    text = f"{_name(curve)}: beyond {at} no gain is detectable{left}; the most is {most} {on}"
    text += f"{curve.without_result}."
    return text.replace("at most)", f"{hedge})") if hedge else text


def _ratio(found: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(each.text for each in found if each.code == "processor_ratio")[:1]


def _tiles(curve: Curve) -> tuple[Tile, ...]:
    threads, best = curve.best
    estimates = curve.cells[threads].summary.estimates
    wanted = (
        (OPERATION_COST, "Processor time of the process"),
        (SIGNERS_COST, "Processor time of the signers"),
        (quantile(OPERATION, 99), "Time of an operation, p99"),
    )
    found = [Tile(f"Operations/s at {threads} threads", best)]
    if curve.knee is not None and not curve.knee.at_end:
        found.append(Tile("Threads that are enough", curve.knee.at))
    found += [Tile(title, estimates[name]) for name, title in wanted if name in estimates]
    return tuple(found) if len(found) >= _FEWEST_TILES else ()
