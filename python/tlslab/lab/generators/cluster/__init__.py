"""Hosts that are nodes of a Ray cluster. Needs Ray: `pip install 'tlslab[ray]'`."""

import os

# Ray prints what befalls nodes on the driver's standard output, which is the lab's own; the lab
# says by itself which host is lost. Ray reads this once, as it is imported.
os.environ["RAY_DEDUP_LOGS_SKIP_REGEX"] = "^"

from tlslab.lab.generators.cluster.hosts import cluster_hosts

__all__ = ["cluster_hosts"]
