"""The numbers of a summary as CSV: one estimate or ratio per line, equal to summary.json's."""

import csv
import io
from collections.abc import Iterator

from tlslab.domain.estimates import estimate_name
from tlslab.domain.finding import Summary
from tlslab.domain.plain import plain

# Characters at which a spreadsheet expects a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_LIMIT = 1000

Value = str | float | int | bool | None


def render_csv(summary: Summary) -> str:
    """The estimates of all cells.

    A comparison of two runs has none, so its ratios take their place.
    """
    lines = _estimates(summary) if summary.cells else _ratios(summary)
    return csv_text(lines)


def csv_text(lines: Iterator[tuple[Value, ...]]) -> str:
    """Lines of values (RFC 4180); numbers in full, an empty field for None."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in lines:
        writer.writerow([_field(value) for value in line])
    return out.getvalue()


def _field(value: Value) -> str:
    """A field; text that a spreadsheet would evaluate gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | int):
        return repr(value)
    cleaned = plain(value, _LIMIT)
    return f"'{cleaned}" if cleaned.startswith(_FORMULA) else cleaned


def _estimates(summary: Summary) -> Iterator[tuple[Value, ...]]:
    factors = list(dict.fromkeys(name for cell in summary.cells for name in cell.factors))
    yield (
        "cell", *factors, "verdict", "trials", "estimate", "words", "value", "low", "high", "n",
        "unit", "lower_bound",
    )  # fmt: skip
    for cell in summary.cells:
        levels = [cell.factors.get(name) for name in factors]
        for name, estimate in cell.estimates.items():
            yield (
                cell.key, *levels, cell.verdict, cell.trials, name, estimate_name(name),
                estimate.value, estimate.low, estimate.high, estimate.n, estimate.unit,
                cell.is_bound(name),
            )  # fmt: skip


def _ratios(summary: Summary) -> Iterator[tuple[Value, ...]]:
    yield (
        "baseline", "candidate", "estimate", "words", "ratio", "low", "high", "n", "p",
        "adjusted_p", "may_differ", "verdict",
    )  # fmt: skip
    for ratio in summary.comparisons:
        yield (
            ratio.baseline, ratio.candidate, ratio.estimate, estimate_name(ratio.estimate),
            ratio.ratio, ratio.low, ratio.high, ratio.n, ratio.p, ratio.adjusted_p,
            ratio.may_differ, ratio.verdict,
        )  # fmt: skip
