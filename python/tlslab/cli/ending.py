"""The exit code of a summary, and the last line, which gives its reason."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tlslab.domain.finding import Summary


EXIT_VERDICT = 1

EXIT_CANNOT_TELL = 4

EXIT_INTERRUPTED = 130

# Cells with these verdicts have usable results; `unsupported` is a result, too.
GOOD_VERDICTS = ("valid", "at_least", "unsupported")

_WORDS = {
    "invalid": "invalid",
    "failed": "without a result",
    "unsupported": "unsupported",
    "at_least": "with lower bounds",
}


def exit_code(summary: "Summary") -> int:
    """0 if every cell has a usable result and at least one was measured, else 1."""
    verdicts = [cell.verdict for cell in summary.cells]
    measured = any(verdict in ("valid", "at_least") for verdict in verdicts)
    return 0 if measured and all(v in GOOD_VERDICTS for v in verdicts) else EXIT_VERDICT


def reason(verdicts: Sequence[str]) -> str:
    """The reason of the exit code: `3 of 20 cells invalid, see above`."""
    total = len(verdicts)
    if not total:
        return "no cell was measured"
    reported = [
        (verdicts.count(verdict), words) for verdict, words in _WORDS.items() if verdict in verdicts
    ]
    if not reported:
        return "the cell is valid" if total == 1 else f"all {total} cells valid"
    (first, words), *others = reported
    of = "the only cell" if total == 1 else f"{first} of {total} cells"
    line = ", ".join([f"{of} {words}", *(f"{number} {word}" for number, word in others)])
    measured = any(verdict in ("valid", "at_least") for verdict in verdicts)
    if measured and all(verdict in GOOD_VERDICTS for verdict in verdicts):
        return line
    return f"{line}, see above"
