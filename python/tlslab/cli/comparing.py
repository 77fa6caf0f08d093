"""The work of `tlslab compare`: two run folders or servers compared, and the verdict of a gate."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tlslab import report, studies
from tlslab.analysis.gate import gate
from tlslab.analysis.overlay import Side, overlay, two_servers
from tlslab.cli.console import conclude, err, say
from tlslab.cli.ending import EXIT_CANNOT_TELL, EXIT_VERDICT
from tlslab.domain.command_line import did_you_mean
from tlslab.domain.enough import EQUIVALENCE
from tlslab.domain.errors import StoreError, UsageError
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.lab.results import analysed, read_contents
from tlslab.lab.store import RunFolder
from tlslab.words import worded
from tlslab.words.gate import gate_lines, gate_words

GATE_CODES = {"passed": 0, "slower": EXIT_VERDICT, "cannot_tell": EXIT_CANNOT_TELL}


def compared(first: Path, second: Path | None, margin: float | None) -> Summary:
    """The comparison of the second run with the first; ratios within `margin` of 1 are equivalent.

    Without a second run that of the two servers of the first. Raises StoreError, and UsageError for
    a run without two servers.
    """
    if second is None:
        return _of_one_run(first, margin)
    names = _names(first, second)
    runs = [(found, analysed(found)) for found in (_contents(first), _contents(second))]
    sides = [Side(name, summary) for name, (_, summary) in zip(names, runs, strict=True)]
    laid = overlay(sides[0], sides[1], EQUIVALENCE if margin is None else margin)
    summary = worded(studies.beside(laid, runs))
    words = ("tlslab", "compare", str(first), str(second))
    return replace(summary, environment=replace(summary.environment, command=words))


def _of_one_run(path: Path, margin: float | None) -> Summary:
    """The comparison of the two servers of a run, the second with the first.

    Raises StoreError, and UsageError for a run without two servers.
    """
    summary = worded(two_servers(_contents(path), EQUIVALENCE if margin is None else margin))
    words = ("tlslab", "compare", str(path))
    return replace(summary, environment=replace(summary.environment, command=words))


def write_page(folder: Path, summary: Summary) -> None:
    """Writes the page with the figures into a folder, and prints its path."""
    RunFolder.write_comparison(folder, summary, report.render_html(summary))
    err.print(f"report: {folder / 'report.html'}", soft_wrap=True, markup=False)


def warn_of_damages(paths: Sequence[Path]) -> None:
    """Prints a warning for each damage of the run folders."""
    for path in paths:
        for damage in RunFolder.open(path).damages():
            say(f"warning: {damage}")


def conclude_gate(
    summary: Summary, limit: float, estimates: list[str], details: bool = True
) -> int:
    """Prints the gate's verdict on each ratio and the reason of the exit code.

    `details`: on all ratios, not on the worst only. Returns the exit code.
    """
    known = {each.estimate for each in summary.comparisons}
    for name in estimates:
        if name not in known:
            meant = did_you_mean(name, known)
            raise UsageError(
                f"--gate-by {name}: there is no such ratio",
                meant or f"one of {', '.join(sorted(known))}",
            )
    found = gate(summary.comparisons, limit, estimates)
    for line in gate_lines(found, details):
        say(line)
    return conclude(gate_words(found), GATE_CODES[found.verdict])


def _contents(path: Path) -> RunContents:
    """A run's contents. Raises StoreError for a run without any trial."""
    folder = RunFolder.open(path)
    contents = read_contents(folder)
    if not contents.trials:
        damages = "; ".join(folder.damages()) or f"{path} holds no trial"
        raise StoreError(f"nothing to compare: {damages}")
    return contents


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The folders' own names, if they differ."""
    names = (first.resolve().name[:60], second.resolve().name[:60])
    return names if names[0] != names[1] else ("A", "B")
