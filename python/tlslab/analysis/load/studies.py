"""Which published studies of load there are, and what each adds to a report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.load.cells import LoadCell
from tlslab.analysis.load.published import load_study, published_table
from tlslab.model.errors import UsageError
from tlslab.model.figure import DataTable, TextBlock


@dataclass(frozen=True)
class Beside:
    """What a study adds: tables and texts, after those of every load experiment."""

    tables: tuple[DataTable, ...] = ()
    texts: tuple[TextBlock, ...] = ()


def _coradiant(cells: Sequence[LoadCell]) -> Beside:
    table = published_table(cells, load_study("coradiant-2001"))
    return Beside(tables=(table,) if table.rows else ())


# By the name that an experiment's `published` has. A new study is a module and a line here.
STUDIES: Mapping[str, Callable[[Sequence[LoadCell]], Beside]] = {"coradiant-2001": _coradiant}


def beside(name: str | None, cells: Sequence[LoadCell]) -> Beside:
    """What the study of that name adds; nothing without one. Raises UsageError for others."""
    if name is None:
        return Beside()
    if name not in STUDIES:
        raise UsageError(f"no published study of load '{name}'", f"known: {', '.join(STUDIES)}")
    return STUDIES[name](cells)
