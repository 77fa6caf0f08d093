"""A validation: the tool's times, tcpdump's, and the judgement on both."""

from collections.abc import Iterator

from rich.console import RenderableType

from tlslab.domain.estimates import MICRO
from tlslab.domain.plain import plain
from tlslab.domain.validation import (
    Comparison,
    PhaseResult,
    RateResult,
    Validation,
    judged_words,
    results_words,
)
from tlslab.domain.wording import counted
from tlslab.report.csv import Value, csv_text
from tlslab.report.document import Line, Listing, Table, as_markdown, for_terminal
from tlslab.report.numbers import Grid, Place, number, word

_LABELS = {
    "connect": "connect: SYN to SYN-ACK",
    "handshake": "handshake: to Finished",
    "first_byte": "first byte: request to response",
    "close": "whole: SYN to close",
}


def render_validation(validation: Validation) -> RenderableType:
    """The times by phase for each rate, and their grounds."""
    grounds = [Line(note, "dim") for note in _notes(validation)]
    return for_terminal([*_tables(validation), *grounds])


def validation_markdown(validation: Validation) -> str:
    """The answer, then the table of each rate, then their grounds."""
    answer = Line(results_words(validation.rates), "bold")
    grounds = Listing("Notes", tuple(map(Line, _notes(validation))))
    title = "Are the tool's times those of the packets?"
    return as_markdown(title, [answer, *_tables(validation), grounds])


def _tables(validation: Validation) -> Iterator[Table]:
    for rate in validation.rates:
        yield Table(f"{rate.achieved:,.0f} connections/s", _grid(rate))


def _grid(rate: RateResult) -> Grid:
    """Two rows for each phase, one for each quantile."""
    heads = ("time", "", "n", "tlslab ms", "tcpdump ms", "by", "agrees", f"each by {MICRO}")
    return Grid(heads, tuple(row for phase in rate.phases for row in _rows(phase, rate)))


def _rows(phase: PhaseResult, rate: RateResult) -> list[tuple[Place, ...]]:
    label, n = word(_LABELS[phase.phase]), number(f"{phase.n:,}")
    differences = (phase.difference_median_us, phase.difference_p99_us)
    rows: list[tuple[Place, ...]] = []
    for comparison, difference in zip(phase.comparisons, differences, strict=False):
        first = (label, n) if not rows else (word(" "), word(" "))
        quantile = word(f"p{100 * comparison.quantile:.0f}")
        by = number(f"{difference:+,.0f}")
        rows.append((first[0], quantile, first[1], *_comparison(comparison, rate), by))
    return rows or [(label, word(" "), number("0"), *[word("")] * 5)]


def _comparison(comparison: Comparison, rate: RateResult) -> tuple[Place, ...]:
    by = f"{100 * (comparison.ratio - 1):+.2f} %" if comparison.ratio < 2 else "> 2 ×"
    return (
        number(f"{comparison.tool_ms:,.3f}"),
        number(f"{comparison.capture_ms:,.3f}"),
        number(by),
        word(judged_words(comparison, rate)),
    )


def _notes(validation: Validation) -> list[str]:
    """The grounds of the tables, and the invalid rates."""
    finest = ", ".join(
        f"{rate.rate:g}/s: {rate.resolution.median_us:,.0f} and {rate.resolution.p99_us:,.0f}"
        for rate in validation.rates
    )
    lines = [
        f"{plain(validation.target)}, back end {plain(validation.backend)}"
        + (f", {validation.pause_ms} ms of work per response" if validation.pause_ms else "")
        + (f", a path of {validation.delay_ms:g} ms there and back" if validation.delay_ms else ""),
        "resolution of this machine in µs, p50 and p99: how far a program's reading of the clock "
        "lies from the packet's own time, by connects and datagrams apart from the tool: "
        f"{finest}. A time is too short to judge where 1 % of it is less than that",
    ]
    for rate in validation.rates:
        if not rate.valid:
            lines.append(
                f"invalid at {rate.rate:g}/s: {rate.completed:,} completed, {rate.matched:,} found "
                f"in the capture, {rate.missing:,} missing there, "
                f"{counted(rate.dropped, 'packet')} dropped"
            )
    return lines


def validation_csv(validation: Validation) -> str:
    """Each quantile of each phase at each rate, in the units of the JSON."""
    return csv_text(_values(validation))


def _values(validation: Validation) -> Iterator[tuple[Value, ...]]:
    yield (
        "rate", "achieved", "phase", "n", "quantile", "tool_ms", "capture_ms", "ratio", "judgement",
        "difference_us", "resolution_us",
    )  # fmt: skip
    for rate in validation.rates:
        for phase in rate.phases:
            differences = (phase.difference_median_us, phase.difference_p99_us)
            for times, difference in zip(phase.comparisons, differences, strict=False):
                yield (
                    rate.rate, rate.achieved, phase.phase, phase.n, times.quantile, times.tool_ms,
                    times.capture_ms, times.ratio, judged_words(times, rate),
                    difference, rate.resolution.at(times.quantile),
                )  # fmt: skip
