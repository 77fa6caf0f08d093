"""The whole suites study: the content of its page, from measured cells alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured
from tlslab.analysis.published_figures import Order
from tlslab.analysis.studies.suites import answers
from tlslab.analysis.studies.suites.dh_figures import size_figures
from tlslab.analysis.studies.suites.diffie_hellman import Load, sizes
from tlslab.analysis.studies.suites.family_figures import figures
from tlslab.analysis.studies.suites.places import Place, places
from tlslab.analysis.studies.suites.suite_tables import (
    handshake_table,
    kept_open_table,
    sizes_table,
)
from tlslab.domain.estimates import (
    SERVER_COST,
)
from tlslab.domain.experiment import Experiment
from tlslab.domain.figure import DataTable, Figure
from tlslab.domain.finding import Finding


@dataclass(frozen=True)
class SuitesStudy:
    """The additions of the study to a summary."""

    figures: tuple[Figure, ...] = ()
    tables: tuple[DataTable, ...] = ()
    findings: tuple[Finding, ...] = ()


def is_suites_study(experiment: Experiment) -> bool:
    """Whether an experiment compares suites."""
    return any(each.name == "suite" and len(each.levels) > 1 for each in experiment.factors)


def suites_study(
    cells: Sequence[Measured], study: Order | None, processors: int = 1
) -> SuitesStudy:
    """Figures, tables and findings; `processors` is the server's number of processors.

    Pure. `study` is the published order for comparison, if there is one.
    """
    drawn: list[Figure] = []
    tables: list[DataTable] = []
    reported: list[Finding | None] = []
    for place in places(cells):
        load = _load(study, processors)
        found = sizes(place, load)
        drawn += [*figures(place), *size_figures(place, found)]
        tables += [kept_open_table(place, study.order if study else ()), handshake_table(place)]
        if found:
            tables.append(sizes_table(place, found))
        reported += _answers(place, study)
        reported += answers.diffie_hellman(place, found, load)
    return SuitesStudy(
        tuple(drawn), tuple(tables), tuple(finding for finding in reported if finding is not None)
    )


def _answers(place: Place, study: Order | None) -> list[Finding | None]:
    return [
        answers.fastest(place, place.keep_alive),
        answers.fastest(place, SERVER_COST),
        answers.orders_apart(place),
        answers.beside_the_study(place, study) if study else None,
        answers.not_supported(place, place.cells),
    ]


def _load(study: Order | None, processors: int) -> Load:
    """The load of the published measurement, with the processors of our server."""
    if study is None:
        return Load(128, 10.0, processors)
    return Load(study.dh_connections, study.dh_seconds, processors)
