"""The published studies of load, and the additions of each to a report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.capacity import runtime_study
from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.published_capacity import load_study, published_table
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.errors import UsageError
from tlslab.domain.figure import DataTable, Figure, TextBlock


@dataclass(frozen=True)
class Beside:
    """Additions of a study: figures, tables and texts, after those of every capacity experiment."""

    figures: tuple[Figure, ...] = ()
    tables: tuple[DataTable, ...] = ()
    texts: tuple[TextBlock, ...] = ()


def _coradiant(cells: Sequence[CapacityCell], plan: CapacityPlan) -> Beside:
    table = published_table(cells, load_study("coradiant-2001"))
    return Beside(tables=(table,) if table.rows else ())


def _tomcat(cells: Sequence[CapacityCell], plan: CapacityPlan) -> Beside:
    table = runtime_study.published_table(cells, load_study("tomcat-2008", runtime_study.SCHEMA))
    return Beside(
        figures=runtime_study.figures(cells, plan),
        tables=(*runtime_study.tables(cells, plan), *((table,) if table.rows else ())),
        texts=runtime_study.texts(cells),
    )


Study = Callable[[Sequence[CapacityCell], CapacityPlan], Beside]

# Studies by the name in an experiment's `published`. A new study is a module and a line here.
STUDIES: Mapping[str, Study] = {"coradiant-2001": _coradiant, "tomcat-2008": _tomcat}


def beside(name: str | None, cells: Sequence[CapacityCell], plan: CapacityPlan) -> Beside:
    """The additions of the study with this name; empty for None.

    Raises UsageError for unknown names.
    """
    if name is None:
        return Beside()
    if name not in STUDIES:
        raise UsageError(f"no published study of load '{name}'", f"known: {', '.join(STUDIES)}")
    return STUDIES[name](cells, plan)
