"""The study of 2019: which cipher suite, and which Diffie-Hellman size, on RWSERVE?

It left open why 2048 bits came out best and 1024 clearly worse, and how suites with ECDSA
certificates do. `places` gathers the cells of one server and version of HTTP, `figures` and
`suite_tables` show them, `classes` compares classes of suites as the study orders them, `orders`
orders of suites with each other and with the published one, `diffie_hellman` answers what the size
of the parameters costs; `matched` takes suites together. Handshakes and requests on
connections kept open are measured by runs of their own, and never mixed.
"""

from collections.abc import Sequence
from dataclasses import replace

from tlslab.analysis.compare import Measured
from tlslab.analysis.matrix.summary import measured
from tlslab.domain.estimates import SERVER_COST
from tlslab.domain.experiment import MATRIX, Experiment
from tlslab.domain.figure import DataTable, Figure
from tlslab.domain.finding import Finding, Statement, Summary
from tlslab.domain.run import RunContents
from tlslab.studies.study import Additions, Figures, Opening, Study
from tlslab.studies.suites import answers
from tlslab.studies.suites.classes import class_finding, class_order
from tlslab.studies.suites.diffie_hellman import Load, size_findings, sizes
from tlslab.studies.suites.figures import class_figure, family_figures, size_figures
from tlslab.studies.suites.places import places, plain_cell
from tlslab.studies.suites.suite_tables import handshake_table, kept_open_table, sizes_table
from tlslab.studies.suites.words import SENTENCES
from tlslab.words import worded


def compares_suites(experiment: Experiment) -> bool:
    """Whether an experiment compares suites."""
    return any(each.name == "suite" and len(each.levels) > 1 for each in experiment.factors)


def adds(contents: RunContents, summary: Summary, published: Figures) -> Additions:
    """Figures, tables and findings on suites; beside the published order, if the run names it."""
    if not compares_suites(contents.experiment):
        return Additions()
    processors = max(1, len(contents.environment.target.processors))
    spoken = worded(summary)
    cells = [replace(cell, summary=spoken.cell(cell.summary.key)) for cell in measured(contents)]
    return additions(cells, published, processors)


SUITES = Study("suites", "rwserve-2019", MATRIX, adds, SENTENCES, also=compares_suites)


def additions(cells: Sequence[Measured], published: Figures, processors: int = 1) -> Additions:
    """The additions from measured cells; `processors` is the server's number of processors."""
    load = Load(published.get("dh_connections", 128), published.get("dh_seconds", 10), processors)
    drawn: list[Figure] = []
    tables: list[DataTable] = []
    reported: list[Finding | None] = []
    opening: Opening | None = None
    for place in places(cells):
        found = sizes(place, load)
        classes = [
            order
            for estimate in (place.keep_alive, SERVER_COST)
            if (order := class_order(place, estimate, published.get("classes", ()))) is not None
        ]
        figures = [f for order in classes if (f := class_figure(place, order)) is not None]
        if classes and opening is None:
            values = {"where": place.label, "orders": [order.values for order in classes]}
            opening = Opening(
                Statement("suites_by_class", values), figures[0].id if figures else ""
            )
        drawn += [*figures, *family_figures(place), *size_figures(place, found)]
        tables += [kept_open_table(place, published.get("order", ())), handshake_table(place)]
        if found:
            tables.append(sizes_table(place, found))
        reported += [
            *(class_finding(place, order) for order in classes),
            answers.fastest(place, place.keep_alive),
            answers.fastest(place, SERVER_COST),
            answers.orders_apart(place),
            answers.beside_the_study(place, published) if published else None,
            answers.not_supported(place, place.cells),
            *size_findings(place, found, load),
            answers.without_tls(place, plain_cell(place, cells)),
            answers.memory(place),
        ]
    return Additions(
        findings=tuple(finding for finding in reported if finding is not None),
        figures=tuple(drawn),
        tables=tuple(tables),
        opening=opening,
    )
