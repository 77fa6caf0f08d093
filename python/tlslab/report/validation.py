"""A validation as a table: the tool's times, tcpdump's, and whether they agree."""

from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tlslab.model.validation import Comparison, PhaseResult, RateResult, Validation
from tlslab.report.plain import plain

_LABELS = {
    "connect": "connect: SYN to SYN-ACK",
    "handshake": "handshake: to Finished",
    "first_byte": "first byte: request to response",
    "close": "whole: SYN to close",
}

_WORDS = {
    "1 %": ("within 1 %", "green"),
    "resolution": ("within resolution", "green"),
    "no": ("differs", "red"),
    "too few": ("too few", "yellow"),
}


def render_validation(validation: Validation) -> RenderableType:
    """The table of study C's appendix, for each rate and phase, and what it rests on."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in (
        "conn/s",
        "n",
        "time",
        "",
        "tlslab ms",
        "tcpdump ms",
        "by",
        "agrees",
        "each by µs",
    ):
        justify: Literal["left", "right"] = "left" if name in ("time", "", "agrees") else "right"
        table.add_column(name, justify=justify, no_wrap=True)
    for rate in validation.rates:
        for number, phase in enumerate(rate.phases):
            for cells in _rows(rate if number == 0 else None, phase):
                table.add_row(*cells)
    return Group(table, Text(), *_notes(validation))


def _rows(rate: RateResult | None, phase: PhaseResult) -> list[list[Text]]:
    """Two lines of the table, one for each quantile; the rate stands before the first of all."""
    rows = []
    differences = (phase.difference_median_us, phase.difference_p99_us)
    for number, (comparison, difference) in enumerate(
        zip(phase.comparisons, differences, strict=False)
    ):
        first = number == 0
        rows.append(
            [
                Text(f"{rate.achieved:,.0f}" if rate and first else ""),
                Text(f"{phase.n:,}" if first else ""),
                Text(_LABELS[phase.phase] if first else ""),
                *_comparison(comparison),
                Text(f"{difference:+,.0f}"),
            ]
        )
    return rows or [[Text(""), Text("0"), Text(_LABELS[phase.phase])]]


def _comparison(comparison: Comparison) -> list[Text]:
    words, style = _WORDS[comparison.agrees]
    by = f"{100 * (comparison.ratio - 1):+.2f} %" if comparison.ratio < 2 else "> 2 x"
    return [
        Text(f"p{100 * comparison.quantile:.0f}"),
        Text(f"{comparison.tool_ms:,.3f}"),
        Text(f"{comparison.capture_ms:,.3f}"),
        Text(by),
        Text(words, style=style),
    ]


def _notes(validation: Validation) -> list[Text]:
    finest = ", ".join(
        f"{rate.rate:g}/s: {rate.resolution.median_us:,.0f} and {rate.resolution.p99_us:,.0f}"
        for rate in validation.rates
    )
    notes = [
        f"{plain(validation.target)}, back end {plain(validation.backend)}"
        + (f", {validation.pause_ms} ms of work per response" if validation.pause_ms else ""),
        "resolution of this machine in µs, p50 and p99: how far a program's reading of the clock "
        f"lies from the packet's own time, by connects and datagrams apart from the tool: {finest}",
    ]
    for rate in validation.rates:
        if not rate.valid:
            notes.append(
                f"invalid at {rate.rate:g}/s: {rate.completed} completed, {rate.matched} found in "
                f"the capture, {rate.missing} missing there, {rate.dropped} packets dropped"
            )
    verdict = "the times agree" if validation.passed else "the times do not all agree"
    return [*(Text(note, style="dim") for note in notes), Text(verdict, style="bold")]
