"""A report as Markdown fits into a comment on GitHub."""

from dataclasses import replace

from tlslab.domain.figure import DataTable
from tlslab.domain.finding import Summary
from tlslab.report import render_markdown
from tlslab.report.markdown import MOST

NO_ROOM = "#### No room here; the page and --format json have it"


def wide(number: int) -> DataTable:
    """A table of some 5,000 characters."""
    rows = tuple((f"row {row}", "x" * 80) for row in range(50))
    return DataTable(f"wide-{number}", f"Wide table {number}", "", ("row", "text"), rows)


def test_parts_without_room_are_named(full_summary: Summary) -> None:
    text = render_markdown(replace(full_summary, tables=tuple(map(wide, range(40)))))
    assert len(text) <= MOST
    named = text[text.index(NO_ROOM) :].split("\n\n")[1].split("\n")
    assert len(named) == 25
    assert named[-1].endswith(" other parts")
    given = [number for number in range(40) if f"### Wide table {number}\n" in text]
    assert given == list(range(len(given)))
    assert 5 < len(given) < 13
    assert named[0] == f"- Wide table {len(given)}"
    assert text.rstrip().endswith("</details>")
    assert "\nAgain:\n" in text
