"""tlslab: a laboratory for TLS performance.

`contract` has the types of the engine's JSON, `domain` plain data. `experiment`, `servers`,
`analysis`, `advice`, `words` and `report` are stages that share only these two; `studies` are above
them. `lab` joins the stages; `cli` is the command line. ARCHITECTURE.md gives the rest.
"""

from typing import TYPE_CHECKING

from tlslab.domain.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from tlslab.contract.record import RunRecord
    from tlslab.lab.export import OpenedRun

__all__ = ["__version__", "merge", "open_run"]

__version__ = VERSION


def open_run(path: "str | Path") -> "OpenedRun":
    """A run folder's raw results as data frames: `open_run("runs/x").trials()`.

    Raises UsageError for a folder that is not a run folder, StoreError for a damaged one.
    """
    # Imported here because every command of tlslab imports this package, and not all need the lab.
    from tlslab.lab.export import open_run as opened

    return opened(path)


def merge(records: "Mapping[str, str | Path | Mapping[str, Any] | RunRecord]") -> "RunRecord":
    """One record for several generators of one load: `merge({"east": "east.json", ...})`.

    Each value is the path of a file, its content as `json.loads` returns it, or a RunRecord. Raises
    UsageError for a file that cannot be read, EngineError for records that do not belong together,
    CannotRunError without the engine.
    """
    from tlslab.lab.generators.merging import merge as merge_records

    return merge_records(records)
