"""tlslab: a laboratory for TLS performance.

`model` holds plain data. `planning`, `targets`, `store`, `analysis` and `report` are stages that
share only `model`. `lab` joins the stages; `cli` is the command line. ARCHITECTURE.md gives the
rest.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("tlslab")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+source"
