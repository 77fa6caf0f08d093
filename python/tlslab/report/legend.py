"""The meanings of the first table's columns and terms, one line each, for those that occur."""

from collections.abc import Iterator, Sequence

from tlslab.domain.estimates import CLIENT_COST, CONNECTIONS, MICRO, SERVER_COST
from tlslab.domain.finding import Summary
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.report import view
from tlslab.words.numbers import NO_INTERVAL
from tlslab.words.sentence import varied_label

# The fact of a summary that names the source of the server's processor time.
SOURCE = "Server's processor time"


def legend(summary: Summary, sections: tuple[view.Section, ...], wide: bool) -> Iterator[str]:
    """The lines below the first table; `wide`: the table has all its columns."""
    rows = [row for section in sections for row in section.rows]
    baseline = summary.experiment.baseline
    if any(row.place is not None and row.place.best < row.place.worst for row in rows):
        yield "#: the ranks that the trials leave open: 1–3 may be first, second or third"
    if any(_without_interval(row) for row in rows):
        yield (
            f"{NO_INTERVAL}: fewer than {LEAST_BLOCKS} trials have none; --blocks {LEAST_BLOCKS} "
            "gives one"
        )
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        name = varied_label(baseline, baseline)
        below = "; below it its interval of 95 %" * any(each.interval for each in ratios)
        yield f"ratio: to {name}, the baseline, block by block{below}"
    yield from _undecided(rows)
    if any(row.value(SERVER_COST) or row.value(CLIENT_COST) for row in rows):
        yield (
            f"server {MICRO}, client {MICRO}: processor time for each connection; below "
            "it its parts in the program and in the kernel (user + system)"
        )
    if SOURCE in summary.server_side:
        yield f"server {MICRO} by: {summary.server_side[SOURCE]}"
    if any(row.limit(cost) for row in rows for cost in view.LIMITS):
        yield (
            "× limit: how many times as much that is as the sum of the cryptography, the records "
            "and the bare TCP connection, by the fastest library of tlslab on this machine; a "
            "yardstick, which a faster implementation goes below"
        )
    if any(row.cell.lower_bounds or row.cell.verdict == "at_least" for row in rows):
        yield "≥, lower bound: the generator was the limit; the server may do more"
    if any(section.kept_open for section in sections):
        yield "connections kept open: requests only, without a handshake each"
    if not wide:
        yield (
            "left out for want of room: bytes of handshake, handshake ms; they are in "
            "report.html, and here from 112 columns on"
        )


def _undecided(rows: Sequence[view.Row]) -> Iterator[str]:
    """The meanings of the words below a ratio that establishes no difference."""
    verdicts = {row.comparison.verdict for row in rows if row.undecided and row.comparison}
    if "equivalent" in verdicts:
        yield "at most 4 %: no difference was found, and a larger one is excluded (95 %)"
    if "cannot_tell" in verdicts:
        yield "cannot tell: neither a difference is established nor one of over 10 % excluded"


def _without_interval(row: view.Row) -> bool:
    found = row.cell.estimates.get(CONNECTIONS)
    return found is not None and not row.cell.is_bound(CONNECTIONS) and view.lacks_interval(found)
