"""Servers to measure: one file per kind.

A target that the lab manages is configured, started anew for each block, pinned, accounted for and
stopped; an external one is a URL and is never touched.
"""

from tlslab.targets.base import Running, Target
from tlslab.targets.certificates import Authority
from tlslab.targets.nginx import Nginx
from tlslab.targets.reference import Reference

MANAGED: dict[str, type[Reference] | type[Nginx]] = {"reference": Reference, "nginx": Nginx}

__all__ = ["MANAGED", "Authority", "Nginx", "Reference", "Running", "Target"]
