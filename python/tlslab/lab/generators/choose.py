"""Selection of the pool of generators by the command line."""

import importlib
import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import get_args

from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.lab.engine import local_pool
from tlslab.lab.generators.host import Host
from tlslab.lab.generators.joint_run import LostPolicy
from tlslab.lab.generators.local import boot_id, local_hosts
from tlslab.lab.generators.pool import GeneratorPool
from tlslab.lab.generators.several import SeveralHosts
from tlslab.servers.address import LOOPBACK, own_addresses
from tlslab.servers.programs import require_program

AUTO = "auto"
RAY = "ray://"

# The variable in which Ray's commands find their cluster; without it they use this machine.
ADDRESS = "RAY_ADDRESS"

# No load test needs more processes on one machine.
MOST_LOCAL = 64

FORM = "give a number, auto, or ray://HOST:PORT"
POLICIES: tuple[LostPolicy, ...] = get_args(LostPolicy)

ClusterHosts = Callable[[str, int | None], Sequence[Host]]


def check_generators(wanted: str | None) -> str | None:
    """The value of --generators, checked. Raises UsageError."""
    if wanted is None or wanted == AUTO:
        return wanted
    if re.fullmatch(r"ray://[^/\s]+:\d{1,5}", wanted):
        return wanted
    if not re.fullmatch(r"\d{1,5}", wanted) or int(wanted) == 0:
        raise UsageError(f"--generators {wanted}: not a number of generators from 1 on", FORM)
    if ADDRESS not in os.environ and int(wanted) > MOST_LOCAL:
        raise UsageError(
            f"--generators {wanted}: {MOST_LOCAL} processes of this machine at most",
            f"set {ADDRESS} for the hosts of a cluster",
        )
    return wanted


def check_policy(wanted: str, generators: str | None) -> LostPolicy:
    """The value of --on-lost-host, checked against --generators. Raises UsageError."""
    for policy in POLICIES:
        if policy == wanted:
            if generators is None and policy != POLICIES[0]:
                raise UsageError(f"--on-lost-host {wanted} needs --generators", FORM)
            return policy
    raise UsageError(
        f"--on-lost-host {wanted}: not {' or '.join(POLICIES)}",
        "fail ends the trial, keep goes on without the lost generator",
    )


@contextmanager
def generators(wanted: str | None, policy: LostPolicy = "fail") -> Iterator[GeneratorPool]:
    """The pool, whose hosts are released at the end. Raises UsageError, CannotRunError.

    None: one generator on this machine. A number: all of them take part in every run, on the
    cluster of RAY_ADDRESS if that is set, else as processes of this machine. `auto`, or the address
    of a cluster: all of its hosts, of which the search for a maximum takes as many as it needs.
    """
    if wanted is None:
        yield local_pool()
        return
    with several_generators(wanted, policy) as pool:
        yield pool


@contextmanager
def several_generators(wanted: str, policy: LostPolicy) -> Iterator[SeveralHosts]:
    """The pool of several hosts, even for a single host named on the command line."""
    program = require_program("tlslab-load")
    hosts, first = _hosts(wanted, program)
    with SeveralHosts(hosts, policy, program, boot_id(), first) as pool:
        yield pool


def _hosts(wanted: str, program: str) -> tuple[Sequence[Host], int | None]:
    """The hosts, and the number with which a search starts; None for all."""
    address = os.environ.get(ADDRESS)
    if wanted == AUTO:
        return _cluster(address or AUTO, None), 1
    if wanted.startswith(RAY):
        return _cluster(wanted, None), 1
    count = int(wanted)
    if address is not None:
        return _cluster(address, count), None
    return local_hosts(count, program), None


def _cluster(address: str, count: int | None) -> Sequence[Host]:
    """The hosts of a Ray cluster."""
    try:
        # Imported by name, because types of Ray exist only with the extra `ray`. The module sets
        # the variables that Ray reads, then imports Ray.
        module = importlib.import_module("tlslab.lab.generators.cluster")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise CannotRunError("Ray is not installed", "pip install 'ray>=2.60,<3'") from None
    hosts: ClusterHosts = module.cluster_hosts
    return hosts(address, count)


def require_reachable(generators: str | None, listen: str | None) -> None:
    """Raises UsageError for generators on other hosts and a server that they cannot reach.

    `generators` is as in `choose.generators`; `listen` is the address of the server, None for the
    default, loopback.
    """
    if listen is not None or generators is None:
        return
    if generators == AUTO or generators.startswith(RAY) or ADDRESS in os.environ:
        own = [each for each in own_addresses() if not ipaddress.ip_address(each).is_loopback]
        one_of = f", one of {', '.join(own)}" if own else ""
        raise UsageError(
            f"--generators {generators}: other hosts cannot reach a server on loopback",
            f"give --listen ADDRESS{one_of}, or --listen {LOOPBACK} for a cluster that "
            "is this machine alone",
        )
