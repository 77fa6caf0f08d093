"""Servers to measure: one file per kind.

The lab configures a managed target, starts it anew for each block, pins it, accounts for it and
stops it; an external target is a URL and is never touched.
"""

from tlslab.servers.base import Front, Running, Setting, Target
from tlslab.servers.certificates import Authority
from tlslab.servers.nginx import Nginx
from tlslab.servers.reference import Reference, RustlsReference
from tlslab.servers.registry import MANAGED, Kind, build, find_kind, lacking, with_one_key

__all__ = [
    "MANAGED",
    "Authority",
    "Front",
    "Kind",
    "Nginx",
    "Reference",
    "Running",
    "RustlsReference",
    "Setting",
    "Target",
    "build",
    "find_kind",
    "lacking",
    "with_one_key",
]
