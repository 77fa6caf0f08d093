"""The study of 2024: mutual handshakes and signatures with the key on a cluster of signing servers.

It suggested two signing processors per general one, "to be verified". The ratios here are compared
with it by intervals that hold for all of them at once (95 %, Bonferroni): Holm's tests suffice to
refute a ratio; to confirm one takes intervals.
"""

from collections.abc import Iterator, Sequence

from tlslab.analysis.benchmark.curves import Curve, find_curve, make_curves
from tlslab.analysis.benchmark.findings import reservation
from tlslab.analysis.benchmark.processors import Costs, costs
from tlslab.analysis.benchmark.summary import measured_cells
from tlslab.analysis.stats.estimate import widened
from tlslab.analysis.stats.families import LEVEL
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPERATION, OPERATION_MEAN, OPERATIONS, quantile
from tlslab.domain.experiment import BENCHMARK
from tlslab.domain.figure import DataTable, TableCell
from tlslab.domain.finding import Finding, Summary, Values
from tlslab.domain.run import RunContents
from tlslab.domain.wording import counted, every
from tlslab.studies.study import Additions, Figures, Study, source
from tlslab.words.benchmark import RESERVATIONS
from tlslab.words.numbers import with_interval

# An interval that contains a suggested ratio and lies within this factor of it confirms it.
CONFIRMED = 1.25

VERDICTS = {
    "confirmed": "confirms",
    "refuted": "refutes",
    "open": "is too wide to confirm or refute",
    "reserved": "neither confirms nor refutes",
}

# The published rates of benchmarks.
_PUBLISHED = {"handshake-tls12": "handshakes_per_s", "sign": "signatures_per_s"}

Row = tuple[TableCell, ...]


def adds(contents: RunContents, summary: Summary, figures: Figures) -> Additions:
    """The suggested ratio judged, and all published figures that have a counterpart."""
    processors = len(contents.environment.target.processors)
    curves = make_curves(measured_cells(contents))
    found = costs(curves, processors)
    table = DataTable(
        id="published",
        title="Beside the published study",
        caption="Ratios only: absolute rates mean nothing across machines.",
        columns=("what", "published", "here", "on"),
        rows=tuple(_rows(figures, curves, found, processors)),
    )
    return Additions(
        findings=(
            *_within(curves, figures),
            *suggested(found, figures["signing_per_general"]),
        ),
        tables=(table,) if table.rows else (),
        method=(f"Published: {source(figures)}.",),
    )


def _within(curves: Sequence[Curve], study: Figures) -> Iterator[Finding]:
    """Through the cluster: the highest rate whose 99th percentile is below the study's bound."""
    for curve in curves:
        published = study.get(_PUBLISHED.get(curve.benchmark, ""))
        if curve.keys != "cluster" or published is None:
            continue
        values = {
            "where": f"{curve.what}, {curve.name}",
            "limit_ms": study["p99_ms"],
            "published": published,
            "of": study["general"] + study["signing"],
            "warming": curve.warming,
            "most": most_within(curve, study["p99_ms"]),
        }
        cells = tuple(cell.summary.key for cell in curve.cells.values())
        yield Finding("most_within", cells=cells, values=values)


def most_within(curve: Curve, limit_ms: float) -> tuple[int, Estimate, Estimate] | None:
    """Threads, rate and 99th percentile (ms) of the highest rate with all of the percentile's
    interval below the limit; None if no number of threads has that.
    """
    rates = dict(curve.estimates(OPERATIONS))
    within = [
        (threads, rates[threads], tail)
        for threads, tail in curve.estimates(quantile(OPERATION, 99))
        if tail.high is not None and tail.high < limit_ms and threads in rates
    ]
    return max(within, key=lambda each: each[1].value, default=None)


def _within_words(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    limit = f"a 99th percentile below {v['limit_ms']:g} ms"
    study = f"the study: {v['published']:,.0f}/s on {v['of']} processors"
    if v["most"] is None:
        return f"{v['where']}: no number of threads is shown to have {limit} ({study})."
    threads, rate, tail = v["most"]
    reserved = RESERVATIONS["warming"] if v["warming"] else ""
    return (
        f"{v['where']}{reserved}: {with_interval(rate, unit='per second')} with {limit}, at "
        f"{counted(threads, 'thread')} (p99 {with_interval(tail, unit='ms')}; {study})."
    )


def _rows(
    study: Figures, curves: Sequence[Curve], found: Sequence[Costs], processors: int
) -> Iterator[Row]:
    for curve in curves:
        if curve.keys == "cluster" and curve.benchmark in ("sign", "handshake-tls12"):
            yield from _shape(study, curve, processors)
    for each in found:
        yield (
            f"signing processors per general one, {each.curve.what}",
            f"{study['signing_per_general']:g} (suggested)",
            each.ratio,
            each.curve.name,
        )
    yield from _rates(study, curves)
    yield from _drawn(study, curves)


def _shape(study: Figures, curve: Curve, processors: int) -> Iterator[Row]:
    if curve.knee is None:
        return
    knee = curve.knee.at.value / processors
    yield (
        f"threads per general processor from which nothing is gained, {curve.what}",
        f"{study['no_gain_from'] / study['general']:g}",
        f"above {knee:g}" if curve.knee.at_end else f"{knee:g}",
        curve.name,
    )
    yield (
        f"threads per general processor up to which it is linear, {curve.what}",
        f"{study['linear_to'] / study['general']:g}",
        f"{curve.knee.linear_to / processors:g}",
        curve.name,
    )
    slower = next((level for level in curve.cells if level > curve.knee.linear_to), None)
    yield (
        f"threads per general processor from which it grows slower, {curve.what}",
        f"{study['slower_from'] / study['general']:g}",
        f"above {max(curve.cells) / processors:g}"
        if slower is None
        else f"{slower / processors:g}",
        curve.name,
    )


def _rates(study: Figures, curves: Sequence[Curve]) -> Iterator[Row]:
    for signing in (curve for curve in curves if curve.benchmark == "sign"):
        shaking = find_curve(curves, signing.runtime, "handshake-tls12", signing.keys)
        if shaking is None:
            continue
        here = signing.best[1].value / shaking.best[1].value
        yield (
            "signatures per TLS 1.2 handshake at the most of each",
            f"{study['signatures_per_s'] / study['handshakes_per_s']:g}",
            f"{here:.2f}",
            signing.name,
        )


def _drawn(study: Figures, curves: Sequence[Curve]) -> Iterator[Row]:
    for curve in curves:
        mean = curve.first.summary.estimates.get(OPERATION_MEAN)
        if curve.benchmark == "draw" and mean is not None:
            yield (
                "drawing a message, microseconds",
                f"{study['drawing_us']:g}",
                f"{1000 * mean.value:.1f}",
                curve.name,
            )


def suggested(found: Sequence[Costs], wanted: float) -> Iterator[Finding]:
    """Whether each measured ratio confirms the suggested one; those that can say are a family."""
    family = sum(not reservation(each) for each in found)
    for each in found:
        values = {
            "where": f"{each.curve.what}, {each.curve.name}",
            "wanted": wanted,
            "verdict": judge(each, wanted, family),
            "reservation": reservation(each),
            "family": family,
        }
        yield Finding("processor_ratio_suggested", cells=each.cells, values=values)


def _suggested_words(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    reserved = v["verdict"] == "reserved"
    reservation_words = f"{RESERVATIONS[v['reservation']]}{',' * reserved}"
    text = f"{v['where']}: the ratio{reservation_words} {VERDICTS[v['verdict']]}"
    together = ""
    if v["family"] > 1 and not reserved:
        together = f" (95 % for {every(v['family'])} ratios together)"
    return f"{text} the suggested 1 : {v['wanted']:g} here{together}."


def judge(costs: Costs, wanted: float, family: int) -> str:
    """A key of VERDICTS: what a ratio says of the suggested one, among `family` ratios."""
    if reservation(costs):
        return "reserved"
    together = widened(costs.ratio, LEVEL / family)
    if not _holds(together, wanted):
        return "refuted"
    assert together.low is not None
    assert together.high is not None
    near = wanted / CONFIRMED <= together.low and together.high <= wanted * CONFIRMED
    return "confirmed" if near and _holds(costs.ratio, wanted) else "open"


def _holds(found: Estimate, value: float) -> bool:
    """Whether the interval contains the value."""
    return found.low is not None and found.high is not None and found.low <= value <= found.high


CONCURRENCY = Study(
    "concurrency",
    "pix-2024",
    BENCHMARK,
    adds,
    {"most_within": _within_words, "processor_ratio_suggested": _suggested_words},
)
