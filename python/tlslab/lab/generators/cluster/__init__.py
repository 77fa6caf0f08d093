"""Hosts that are nodes of a Ray cluster. Needs Ray: `pip install 'ray>=2.60,<3'`."""

import os

# Ray prints messages about failed nodes on the standard output of the driver, which is the lab; the
# lab itself reports lost hosts. Ray reads this variable once, when it is imported.
os.environ["RAY_DEDUP_LOGS_SKIP_REGEX"] = "^"

from tlslab.lab.generators.cluster.ray_hosts import cluster_hosts

__all__ = ["cluster_hosts"]
