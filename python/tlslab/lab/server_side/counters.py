"""Processor counters in an exporter's text: node_exporter's, and groups of processes if any.

`node_cpu_seconds_total{cpu, mode}` (node_exporter, collector cpu) are the kernel's times in
/proc/stat, truncated to 1/100 s. `namedprocess_namegroup_cpu_seconds_total{groupname, mode}` are
process-exporter's. Other lines are dropped before parsing.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from tlslab.lab.server_side.scrape import Answer, ScrapeError

if TYPE_CHECKING:
    from prometheus_client import Metric

MACHINE = "node_cpu_seconds_total"
GROUPS = "namedprocess_namegroup_cpu_seconds_total"

IDLE_MODES = ("idle", "iowait")
USER_MODES = ("user", "nice")
SYSTEM_MODES = ("system", "irq", "softirq")
MODES = (*USER_MODES, *SYSTEM_MODES, *IDLE_MODES, "steal")

PROCESSORS_LIMIT = 8192
LINES_LIMIT = 100_000
GROUPS_LIMIT = 100
NAME_LIMIT = 100

# Two readings whose counters differ by no more than this are of the same machine.
SAME_S = 2.0

Times = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Counters:
    """Seconds so far: of the machine by processor and mode, of groups by name and mode.

    The counters were read between the instants `sent` and `received` of the monotonic clock.
    """

    machine: Times
    groups: Times
    sent: float
    received: float


def parse(answer: Answer) -> Counters:
    """The counters of an answer. Raises ScrapeError if it has no plausible ones."""
    # Imported here because every run imports this module, and few have an exporter.
    from prometheus_client.parser import text_string_to_metric_families

    lines = [line for line in answer.text.split("\n") if line.startswith((MACHINE, GROUPS))]
    if len(lines) > LINES_LIMIT:
        raise ScrapeError(f"more than {LINES_LIMIT} lines of processor counters")
    try:
        families = list(text_string_to_metric_families("\n".join(lines) + "\n"))
    except Exception as error:  # The parser may raise any exception, depending on its input.
        raise ScrapeError(f"not the text format of Prometheus: {type(error).__name__}") from None
    machine = _collect(families, MACHINE, "cpu", MODES)
    groups = _collect(families, GROUPS, "groupname", ("user", "system"))
    if not machine:
        raise ScrapeError(f"the answer has no {MACHINE}: is it a node_exporter?")
    names = {name for name, _ in machine}
    if len(names) > PROCESSORS_LIMIT:
        raise ScrapeError(f"more than {PROCESSORS_LIMIT} processors")
    if any((name, mode) not in machine for name in names for mode in ("user", "system", "idle")):
        raise ScrapeError(f"{MACHINE} lacks the mode user, system or idle of a processor")
    first = sorted({name for name, _ in groups})[:GROUPS_LIMIT]
    kept = {key: value for key, value in groups.items() if key[0] in first}
    return Counters(machine, kept, answer.sent, answer.received)


def _collect(
    families: "Iterable[Metric]", metric: str, label: str, modes: tuple[str, ...]
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for family in families:
        for sample in family.samples:
            if sample.name != metric or sample.labels.get("mode") not in modes:
                continue
            key = sample.labels.get(label, "")[:NAME_LIMIT], sample.labels["mode"]
            if key in found:
                raise ScrapeError(f"{metric} has {label} {key[0]!r} twice")
            if not math.isfinite(sample.value) or sample.value < 0:
                raise ScrapeError(f"{metric} is {sample.value}")
            found[key] = float(sample.value)
    return found


def is_this_machine(counters: Counters) -> bool:
    """Whether the counters are those of this machine, read just now."""
    try:
        own = psutil.cpu_times(percpu=True)
    except OSError:  # Without /proc/stat this machine's counters are not known.
        return False
    theirs = counters.machine
    return len({name for name, _ in theirs}) == len(own) and all(
        abs(theirs.get((str(number), mode), math.inf) - getattr(times, mode)) < SAME_S
        for number, times in enumerate(own)
        for mode in ("user", "system", "idle")
    )
