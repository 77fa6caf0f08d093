"""The version of tlslab."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("tlslab")
except PackageNotFoundError:  # run from a source tree that was never installed
    VERSION = "0+source"
