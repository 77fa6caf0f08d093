"""Hosts that are nodes of a Ray cluster. Needs Ray: `pip install 'tlslab[ray]'`."""

from tlslab.lab.generators.cluster.hosts import cluster_hosts

__all__ = ["cluster_hosts"]
