"""The tables of a summary's settings as grids, for Markdown, whose cells have a single line."""

from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    HANDSHAKE,
    MICRO,
    SERVER_COST,
    quantile,
)
from tlslab.report import view
from tlslab.report.numbers import Grid, Place

_HEADS = (
    "#", "", "connections/s", "ratio", f"server {MICRO}", f"client {MICRO}",
    "handshake p50 ms", "verdict",
)  # fmt: skip


def section_grid(section: view.Section) -> Grid:
    """A setting's cells, the best first."""
    return Grid(_HEADS, tuple(_row(row) for row in section.rows))


def _row(row: view.Row) -> tuple[Place, ...]:
    ratio = view.Value("baseline") if row.is_baseline else row.ratio or view.Value("")
    if row.undecided:
        ratio = view.Value(ratio.text, f"{ratio.interval}; {row.undecided}", ratio.method)
    return (
        _word(row.rank),
        _word(row.name),
        _number(row.value(CONNECTIONS)),
        Place(ratio, True),
        _number(row.value(SERVER_COST)),
        _number(row.value(CLIENT_COST)),
        _number(row.value(quantile(HANDSHAKE, 50))),
        _word(row.verdict),
    )


def _word(text: str) -> Place:
    return Place(view.Value(text), False)


def _number(value: view.Value | None) -> Place:
    return Place(value or view.Value(""), True)
