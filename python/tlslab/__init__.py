"""tlslab: a laboratory for TLS performance.

`model` holds plain data. `planning`, `targets`, `store`, `analysis` and `report` are stages that
share only `model`. `lab` joins the stages; `cli` is the command line. ARCHITECTURE.md gives the
rest.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from tlslab.lab.export import OpenedRun
    from tlslab.model.record import RunRecord

__all__ = ["__version__", "merge", "open_run"]

try:
    __version__ = version("tlslab")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+source"


def open_run(path: "str | Path") -> "OpenedRun":
    """A run folder's raw results as data frames: `open_run("runs/x").trials()`.

    Raises UsageError, StoreError: the folder is none of a run, or is damaged.
    """
    # Here: every command of tlslab imports this package, and not all of them need the lab.
    from tlslab.lab.export import open_run as opened

    return opened(path)


def merge(records: "Mapping[str, str | Path | Mapping[str, Any] | RunRecord]") -> "RunRecord":
    """The records of several generators of one load as one: `merge({"east": "east.json", ...})`.

    Each is the path of a file, its content as `json.loads` gives it, or a RunRecord. Raises
    UsageError, EngineError, CannotRunError: a file cannot be read, the records do not belong
    together, the engine is missing.
    """
    from tlslab.lab.generators.merging import merge as merge_records

    return merge_records(records)
