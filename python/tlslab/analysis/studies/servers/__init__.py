"""Comparisons of servers: two of them, or one with and without a front that terminates TLS."""

from tlslab.analysis.studies.servers.sentences import Leading
from tlslab.analysis.studies.servers.study import ServersStudy, servers_study

__all__ = ["Leading", "ServersStudy", "servers_study"]
