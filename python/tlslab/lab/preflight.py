"""Conditions on this machine for a measurement, each fault with its remedy.

Checks change nothing. `hard` faults prevent a run; warnings are kept with its results.
"""

import os
import resource
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from tlslab.domain.deployment import REFERENCE_SERVERS
from tlslab.domain.wording import counted
from tlslab.lab.metering.control_group import ControlGroup
from tlslab.servers import MANAGED, RustlsReference
from tlslab.servers.process import MOUNT_PROC, proc_fault
from tlslab.servers.programs import REMEDY, find_program, has_openssl, without_openssl

Level = Literal["ok", "warning", "hard"]

# Files beside the connections: standard streams, poller, listening socket, log, library files.
OTHER_FILES = 64

# A load above this share of the processors disturbs what is measured.
LOAD_LIMIT = 0.25
STEAL_LIMIT = 0.01
COMPANY_WINDOW_S = 0.5


@dataclass(frozen=True)
class Check:
    """The result of one check; `remedy` is empty if none is needed."""

    name: str
    level: Level
    message: str
    remedy: str = ""

    @property
    def text(self) -> str:
        """Message and remedy in one line."""
        return f"{self.message}: {self.remedy}" if self.remedy else self.message


def check_run(connections: int, targets: Sequence[str], managed: bool) -> tuple[Check, ...]:
    """All checks that matter for a run with N connections against these targets.

    If one of several targets is missing, only its own cells fail.
    """
    level: Level = "hard" if len(targets) == 1 else "warning"
    if fault := proc_fault():
        return (Check("proc", "hard", fault, MOUNT_PROC),)
    return (
        *check_programs(targets, managed, level),
        check_files(connections),
        check_ports(connections),
        check_processors(managed),
        *check_company(),
        *check_governor(),
    )


def check_all(connections: int) -> tuple[Check, ...]:
    """All checks, for `tlslab doctor`; a missing server is then only a warning."""
    # A build without OpenSSL serves with rustls.
    own = next((name for name in REFERENCE_SERVERS if MANAGED[name].installed), "reference")
    servers = (
        Check(kind.name, "ok", f"{kind.name} is installed")
        if kind.installed
        else _missing(kind.name, kind.remedy, "warning")
        for kind in MANAGED.values()
        if kind.name != own
    )
    return (*check_run(connections, (own,), managed=True), *servers)


def check_programs(targets: Sequence[str], managed: bool, level: Level = "hard") -> Iterator[Check]:
    """The programs that a run starts; `level` applies to a missing server."""
    serves = any(name in REFERENCE_SERVERS for name in targets)
    own = ["tlslab-load", "tlslab-serve"] if serves else ["tlslab-load"]
    for name in own:
        found = find_program(name)
        yield _of_program(found, targets) if found else _missing(name, REMEDY)
    for name in ("setpriv", "taskset") if managed else ("setpriv",):
        if shutil.which(name):
            yield Check(name, "ok", f"{name} is installed")
        else:
            yield _missing(name, "apt-get install util-linux")
    for kind in (MANAGED[name] for name in targets if name in MANAGED):
        if kind.installed:
            continue
        if kind.name not in REFERENCE_SERVERS:
            yield _missing(kind.name, kind.remedy, level)
        elif found := find_program("tlslab-serve"):
            fault = without_openssl(found)
            yield Check(kind.name, level, fault.message, fault.remedy)


def _of_program(program: str, targets: Sequence[str]) -> Check:
    """A program that is there; only the reference server on rustls needs no OpenSSL in it."""
    name = Path(program).name
    if set(targets) == {RustlsReference.name} or has_openssl(program):
        return Check(name, "ok", f"{name} is installed")
    fault = without_openssl(program)
    return Check(name, "warning", fault.message, fault.remedy)


def _missing(name: str, remedy: str, level: Level = "hard") -> Check:
    return Check(name, level, f"{name} is not installed", remedy)


def check_files(connections: int) -> Check:
    """The limit of open files, which engine and server inherit, against the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return Check("files", "ok", f"{soft:,} open files allowed, {needed:,} needed")
    raisable = hard == resource.RLIM_INFINITY or hard >= needed
    remedy = f"ulimit -n {needed}" if raisable else "raise the hard limit (limits.conf, systemd)"
    message = f"the limit of {soft:,} open files is below the {needed:,} needed for"
    wanted = counted(connections, "connection")
    return Check("files", "hard", f"{message} {wanted}", f"{remedy}, or fewer connections")


def check_ports(connections: int) -> Check:
    """The local ports against the connections in flight.

    A closed one frees its port at once (RST).
    """
    path = Path("/proc/sys/net/ipv4/ip_local_port_range")
    try:
        low, high = (int(text) for text in path.read_text().split())
    except (OSError, ValueError):
        return Check("ports", "ok", "the range of local ports cannot be read here")
    ports = high - low + 1
    remedy = "sysctl net.ipv4.ip_local_port_range='1024 65535', or fewer connections"
    if connections > ports:
        message = f"{connections:,} connections need more than the {ports:,} local ports"
        return Check("ports", "hard", message, remedy)
    if connections > ports // 2:
        message = f"{connections:,} connections take most of the {ports:,} local ports"
        return Check("ports", "warning", message, remedy)
    return Check("ports", "ok", f"{ports:,} local ports for {counted(connections, 'connection')}")


def check_processors(managed: bool, root: Path = Path("/")) -> Check:
    """One processor for the server and one for the generator.

    The processor set and the quota of the control group may leave less than the machine has. `root`
    is the parent of /proc and /sys.
    """
    count, quota = len(os.sched_getaffinity(0)), ControlGroup.of("self", root).quota()
    there = os.cpu_count() or count
    if quota is not None and quota < count:
        message = f"the control group allows {quota:.3g} of {counted(count, 'processor')}"
        if count < 2 and managed:
            message += ", which server and generator share"
        remedy = "raise its quota (cpu.max, CPUQuota=, --cpus): the kernel stops what exceeds it"
        return Check("processors", "warning", message, remedy)
    if count < there and (count >= 2 or not managed):
        message = f"the processor set allows {count} of {counted(there, 'processor')}"
        return Check("processors", "ok", message)
    if count >= 2 or not managed:
        return Check("processors", "ok", counted(count, "processor"))
    message = "server and generator share the only processor: rates say nothing of the server alone"
    return Check("processors", "warning", message, "use a machine with 2 processors or more")


def check_company() -> Iterator[Check]:
    """The processor time of other programs, over half a second in which the lab sleeps.

    The load average is not used: it counts programs that have ended and no longer disturb.
    """
    before = psutil.cpu_times()
    time.sleep(COMPANY_WINDOW_S)
    after = psutil.cpu_times()
    whole = sum(after) - sum(before) or 1.0

    def share(*names: str) -> float:
        return sum(getattr(after, n, 0.0) - getattr(before, n, 0.0) for n in names) / whole

    count = len(os.sched_getaffinity(0))
    stolen = share("steal")
    busy = max(0.0, 1 - share("idle", "iowait") - stolen)
    message = f"other programs use {busy * count:.1f} of {counted(count, 'processor')} now"
    if busy <= LOAD_LIMIT:
        yield Check("load", "ok", message)
    else:
        yield Check("load", "warning", message, "end other work, or wait until it is done")
    message = f"{100 * stolen:.1f} % of the processor time is stolen by the hypervisor"
    if stolen <= STEAL_LIMIT:
        yield Check("steal", "ok", message)
    else:
        remedy = "use a machine of your own, or one with less company"
        yield Check("steal", "warning", message, remedy)


def check_governor() -> Iterator[Check]:
    """The frequency governor, if the machine has one."""
    paths = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    governors = {path.read_text().strip() for path in paths}
    if not governors:
        return
    message = f"frequency governor: {', '.join(sorted(governors))}"
    if governors == {"performance"}:
        yield Check("governor", "ok", message)
    else:
        yield Check("governor", "warning", message, "cpupower frequency-set -g performance")
