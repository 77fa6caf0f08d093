"""tlslab: a laboratory for TLS performance.

`model` holds plain data. `planning`, `targets`, `store`, `analysis` and `report` are stages that
share only `model`. `lab` joins the stages; `cli` is the command line. ARCHITECTURE.md gives the
rest.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tlslab.lab.export import OpenedRun

__all__ = ["__version__", "open_run"]

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
