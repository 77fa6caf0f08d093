"""A validation as Markdown, for pull requests, and as CSV: a line for each time."""

from collections.abc import Iterator

from tlslab.domain.validation import Validation, judged_words, results_words
from tlslab.report.csv import Value, csv_text
from tlslab.report.markdown import escaped, listing_lines, table_lines
from tlslab.report.validation import grid, notes, title


def validation_markdown(found: Validation) -> str:
    """The answer, then the table of each rate, then their grounds."""
    return "\n".join(_document(found)).rstrip() + "\n"


def _document(found: Validation) -> Iterator[str]:
    yield from ("## Are the tool's times those of the packets?", "")
    yield from (f"**{escaped(results_words(found.rates))}**", "")
    for rate in found.rates:
        yield from table_lines(title(rate), grid(rate))
    yield from listing_lines("Notes", notes(found))


def validation_csv(found: Validation) -> str:
    """Each quantile of each phase at each rate, in the units of the JSON."""
    return csv_text(_lines(found))


def _lines(found: Validation) -> Iterator[tuple[Value, ...]]:
    yield (
        "rate", "achieved", "phase", "n", "quantile", "tool_ms", "capture_ms", "ratio", "judgement",
        "difference_us", "resolution_us",
    )  # fmt: skip
    for rate in found.rates:
        for phase in rate.phases:
            differences = (phase.difference_median_us, phase.difference_p99_us)
            for each, difference in zip(phase.comparisons, differences, strict=False):
                yield (
                    rate.rate, rate.achieved, phase.phase, phase.n, each.quantile, each.tool_ms,
                    each.capture_ms, each.ratio, judged_words(each, rate),
                    difference, rate.resolution.at(each.quantile),
                )  # fmt: skip
