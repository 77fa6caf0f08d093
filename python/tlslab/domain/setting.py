"""Settings: the combinations of the levels that a run does not compare."""

from collections.abc import Iterable, Mapping

from tlslab.domain.estimates import CLIENT_COST, CONNECTIONS, OPEN_REQUESTS, SERVER_COST
from tlslab.domain.wording import setting_of


def settings_of(
    cells: Iterable[Mapping[str, str]], baseline: Mapping[str, str]
) -> list[dict[str, str]]:
    """The settings of cells with these levels, each once, in the order of the cells.

    Their numbers, from 1, are in the ids of figures and sections: `setting-1-rate`.
    """
    found: list[dict[str, str]] = []
    for levels in cells:
        setting = setting_of(levels, baseline)
        if setting not in found:
            found.append(setting)
    return found


# The estimates by which cells are ranked, and the part of the id of their figures.
RANKED_FIGURES = {
    CONNECTIONS: "rate",
    OPEN_REQUESTS: "requests",
    SERVER_COST: "server-ranking",
    CLIENT_COST: "client-ranking",
}


def figure_id(number: int, what: str) -> str:
    """The id of a figure of a setting; `number` counts from 1."""
    return f"setting-{number}-{what}"


# How the ids of figures begin that a page has before its tables.
LEADING = "processor-use-"
