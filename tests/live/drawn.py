"""The figures of a capacity run that its verdicts leave: a busy machine may spoil short runs."""

from collections.abc import Mapping, Sequence
from typing import Any

# Verdicts of a load that says nothing about the server.
_SILENT = {"invalid", "generator late"}
# Drawn of loads that say something about it.
_OF_LOADS = {"cpu-load"}
# Drawn of cells whose maximum supports a sentence.
_OF_MAXIMA = {"maximum"}
OF_VERDICTS = _OF_LOADS | _OF_MAXIMA


# Verdicts of a run that no busy machine explains.
_FAULTS = {"unexpected", "failures"}


def drawn(summary: Mapping[str, Any], made: Sequence[Mapping[str, Any]]) -> set[str]:
    """Those of `OF_VERDICTS` that a summary must have; it must have no others of them.

    `made`: the trials, whose runs must be without faults.
    """
    runs = [run["record"] for trial in made for run in trial["runs"].values()]
    assert not {verdict["code"] for record in runs for verdict in record["verdicts"]} & _FAULTS
    loads = [table for table in summary["tables"] if table["id"].startswith("loads-")]
    column = {table["id"]: table["columns"].index("verdict") for table in loads}
    judged = {row[column[table["id"]]] for table in loads for row in table["rows"]} - _SILENT
    known = {cell["verdict"] for cell in summary["cells"]} & {"valid", "at_least"}
    return (_OF_LOADS if judged else set()) | (_OF_MAXIMA if known else set())
