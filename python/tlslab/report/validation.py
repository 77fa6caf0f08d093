"""A validation as a table: the tool's times, tcpdump's, and the judgement on both."""

from rich.console import Group, RenderableType
from rich.text import Text

from tlslab.domain.estimates import (
    MICRO,
)
from tlslab.domain.plain import plain
from tlslab.domain.validation import (
    Comparison,
    PhaseResult,
    RateResult,
    Validation,
    judged_words,
)
from tlslab.domain.wording import counted
from tlslab.report.numbers import Grid, Place
from tlslab.report.terminal_tables import fitting
from tlslab.report.view import Value

_LABELS = {
    "connect": "connect: SYN to SYN-ACK",
    "handshake": "handshake: to Finished",
    "first_byte": "first byte: request to response",
    "close": "whole: SYN to close",
}


def render_validation(validation: Validation) -> RenderableType:
    """The times by phase for each rate, and their grounds."""
    tables = [fitting(title(rate), grid(rate)) for rate in validation.rates]
    return Group(*tables, Text(), *(Text(note, style="dim") for note in notes(validation)))


def title(rate: RateResult) -> str:
    """The title of a rate's table."""
    return f"{rate.achieved:,.0f} connections/s"


def grid(rate: RateResult) -> Grid:
    """Two rows for each phase, one for each quantile."""
    heads = ("time", "", "n", "tlslab ms", "tcpdump ms", "by", "agrees", f"each by {MICRO}")
    return Grid(heads, tuple(row for phase in rate.phases for row in _rows(phase, rate)))


def _rows(phase: PhaseResult, rate: RateResult) -> list[tuple[Place, ...]]:
    label, n = _word(_LABELS[phase.phase]), _number(f"{phase.n:,}")
    differences = (phase.difference_median_us, phase.difference_p99_us)
    rows: list[tuple[Place, ...]] = []
    for comparison, difference in zip(phase.comparisons, differences, strict=False):
        first = (label, n) if not rows else (_word(" "), _word(" "))
        quantile = _word(f"p{100 * comparison.quantile:.0f}")
        each = _number(f"{difference:+,.0f}")
        rows.append((first[0], quantile, first[1], *_comparison(comparison, rate), each))
    return rows or [(label, _word(" "), _number("0"), *[_word("")] * 5)]


def _comparison(comparison: Comparison, rate: RateResult) -> tuple[Place, ...]:
    by = f"{100 * (comparison.ratio - 1):+.2f} %" if comparison.ratio < 2 else "> 2 ×"
    return (
        _number(f"{comparison.tool_ms:,.3f}"),
        _number(f"{comparison.capture_ms:,.3f}"),
        _number(by),
        _word(judged_words(comparison, rate)),
    )


def _word(text: str) -> Place:
    return Place(Value(text), False)


def _number(text: str) -> Place:
    return Place(Value(text), True)


def notes(validation: Validation) -> list[str]:
    """The grounds of the tables, and the invalid rates."""
    finest = ", ".join(
        f"{rate.rate:g}/s: {rate.resolution.median_us:,.0f} and {rate.resolution.p99_us:,.0f}"
        for rate in validation.rates
    )
    found = [
        f"{plain(validation.target)}, back end {plain(validation.backend)}"
        + (f", {validation.pause_ms} ms of work per response" if validation.pause_ms else ""),
        "resolution of this machine in µs, p50 and p99: how far a program's reading of the clock "
        "lies from the packet's own time, by connects and datagrams apart from the tool: "
        f"{finest}. A time is too short to judge where 1 % of it is less than that",
    ]
    for rate in validation.rates:
        if not rate.valid:
            found.append(
                f"invalid at {rate.rate:g}/s: {rate.completed:,} completed, {rate.matched:,} found "
                f"in the capture, {rate.missing:,} missing there, "
                f"{counted(rate.dropped, 'packet')} dropped"
            )
    return found
