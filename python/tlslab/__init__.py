"""tlslab: a laboratory for TLS performance.

`model` holds plain data; `planning`, `targets`, `store`, `analysis` and `report` are stages that
share nothing but it; `lab` joins them, and `cli` is what the user sees. ARCHITECTURE.md gives the
rest.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("tlslab")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+source"
