"""The environment of a run: machine, programs, target."""

import datetime
import os
import platform
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

import tlslab
from tlslab.contract.primitives import Primitives
from tlslab.domain.errors import StoreError
from tlslab.domain.run import Deployed, Environment, TargetInfo
from tlslab.domain.selftest import Selftest
from tlslab.lab.placement import Placement
from tlslab.lab.store.selftest_file import read_selftest


def describe(
    target: TargetInfo,
    placement: Placement,
    command: Sequence[str],
    warnings: Sequence[str],
    primitives: Primitives | None = None,
    deployments: Sequence[Deployed] = (),
) -> Environment:
    """The environment of a run that starts now."""
    now = datetime.datetime.now(datetime.UTC)
    here = machine()
    return Environment(
        created=now.isoformat(timespec="seconds"),
        tlslab=tlslab.__version__,
        command=tuple(command),
        target=target,
        generator_processors=placement.generator,
        machine=here,
        versions={"python": platform.python_version(), "python_ssl": ssl.OPENSSL_VERSION},
        warnings=tuple(warnings),
        primitives=primitives,
        deployments=tuple(deployments),
        selftest=selftest_of(here),
    )


def selftest_of(here: Mapping[str, Any]) -> Selftest | None:
    """The self-test made on such a machine by this version; None without one.

    A damaged file counts as no self-test and does not prevent a run.
    """
    try:
        kept = read_selftest()
    except StoreError:
        return None
    return kept if kept is not None and kept.holds_for(tlslab.__version__, here) else None


def machine() -> dict[str, Any]:
    """The machine: kernel, processor, memory; nothing that names its owner."""
    model, virtual = _processor()
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": model,
        "processors": os.cpu_count(),
        "usable_processors": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "virtual": virtual,
        "load_average": os.getloadavg()[0],
    }


def _processor() -> tuple[str, bool]:
    """The processor's model name, and whether its flags show a hypervisor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return platform.processor() or "unknown", False
    facts = {name.strip(): value.strip() for name, _, value in lines}
    return facts.get("model name", "unknown"), "hypervisor" in facts.get("flags", "").split()
