"""All sources of a server's processor time, read over one run, and the choice among them.

- An exporter on another machine counts: by naming it, the user says that the server is there.
- Otherwise the tree of the listening process counts. If processes of the tree started or ended,
  whose time a tree may lose, its cgroup counts instead.

The values of the other sources are kept beside it.
"""

from dataclasses import dataclass, field

import psutil

from tlslab.domain.trial import ServerSide, ServerUsage, SourceTime
from tlslab.lab.metering.control_group import Cgroup, find_cgroup
from tlslab.lab.metering.exporter import Exporter, Scrapes, Window, above_idle, busy_share
from tlslab.lab.metering.listener import (
    Listener,
    NotFoundError,
    find_listener,
    parse_place,
)
from tlslab.lab.metering.meter import Meter
from tlslab.lab.metering.scrape import ScrapeError

THIS_MACHINE = "it is this machine's, whose processor time has the generator's in it"


@dataclass(frozen=True)
class Side:
    """The sources for a server that the lab did not start: an exporter, if the user names one.

    The server's processes are searched anew in each run: a command may restart it between two runs.
    """

    exporter: Exporter | None = None

    @classmethod
    def of(cls, server_metrics: str | None) -> "Side":
        """The side with the exporter of a URL. Raises UsageError, CannotRunError."""
        return cls(None if server_metrics is None else Exporter.find(server_metrics))


@dataclass
class SideMeter:
    """Reads all sources over one run. `meter` is that of this machine and of the tree, if any."""

    side: Side
    meter: Meter = field(default_factory=lambda: Meter([]))
    _listener: Listener | None = None
    _cgroup: Cgroup | None = None
    _scrapes: Scrapes | None = None
    _cgroup_start: tuple[int, int] | None = None
    _cgroup_end: tuple[int, int] | None = None
    _members: frozenset[int] = frozenset()
    _changed: bool = False
    _missing: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Observes the idle machine for a second, if there is an exporter."""
        if self.side.exporter is not None:
            self._scrapes = Scrapes(self.side.exporter)
            self._scrapes.watch_idle()

    def locate(self, place: str) -> None:
        """Finds the processes at the address to which the engine connects. Before `start`."""
        tree = self._find(place)
        members = None if self._listener is None else self._listener.tree
        self.meter = Meter(tree, members, "process_tree")

    def start(self) -> None:
        """Marks the start of the measurement."""
        self.meter.start()
        if self._scrapes is not None:
            self._scrapes.start()
        self._members = self.meter.pids
        self._cgroup_start = self._read_cgroup()

    def end(self) -> None:
        """Marks the end of the measurement."""
        if self._scrapes is not None:
            self._scrapes.end()
        self._cgroup_end = self._read_cgroup()
        self.meter.end()
        self._changed = self.meter.pids != self._members

    def close(self) -> None:
        """Ends all threads, whatever happened."""
        self.meter.close()
        if self._scrapes is not None:
            self._scrapes.close()

    def result(self) -> tuple[ServerUsage | None, ServerSide]:
        """The time that counts as the server's, and all sources. Call it after `close`."""
        tree = self.meter.server(None)
        own = []
        if tree is not None:
            own = [SourceTime("process_tree", tree.user_us, tree.system_us, tree.seconds)]
        cgroup = self._cgroup_time(tree)
        machine, window, idle = self._machine()
        sources = [*own, *([cgroup] if cgroup else []), *([machine] if machine else [])]
        away = self.side.exporter is not None and not self.side.exporter.own
        usage = self._choose(tree, cgroup, machine, away)
        return usage, ServerSide(
            used=None if usage is None else usage.source,
            sources=tuple(sources),
            missing=dict(self._missing),
            program="" if self._listener is None else self._listener.program,
            processors=window.processors if window and away else self.meter.processors(),
            processors_by="node_exporter" if window and away else "proc_stat",
            idle=None if idle is None else busy_share(idle),
            idle_seconds=0.0 if idle is None else idle.seconds,
            groups=() if window is None else window.groups,
        )

    def _choose(
        self,
        tree: ServerUsage | None,
        cgroup: SourceTime | None,
        machine: SourceTime | None,
        away: bool,
    ) -> ServerUsage | None:
        if away:
            return None if machine is None else _usage(machine)
        if machine is not None:
            self._missing["node_exporter"] = THIS_MACHINE
        if tree is None or tree.user_us + tree.system_us <= 0:
            return None
        return _usage(cgroup, tree) if cgroup is not None and self._changed else tree

    def _find(self, place: str) -> list[psutil.Process]:
        try:
            self._listener = find_listener(parse_place(place))
        except (NotFoundError, ValueError) as error:
            self._missing["process_tree"] = str(error)
            return []
        tree = self._listener.tree()
        try:
            self._cgroup = find_cgroup({each.pid for each in tree})
        except NotFoundError as error:
            self._missing["cgroup"] = str(error)
        return tree

    def _read_cgroup(self) -> tuple[int, int] | None:
        try:
            return None if self._cgroup is None else self._cgroup.read()
        except NotFoundError as error:
            self._missing["cgroup"] = str(error)
            return None

    def _cgroup_time(self, tree: ServerUsage | None) -> SourceTime | None:
        if tree is None or self._cgroup_start is None or self._cgroup_end is None:
            return None
        user, system = (
            end - start for start, end in zip(self._cgroup_start, self._cgroup_end, strict=True)
        )
        return SourceTime("cgroup", user, system, tree.seconds)

    def _machine(self) -> tuple[SourceTime | None, Window | None, Window | None]:
        """The exporter's figures: above the idle machine, in the measurement, before it."""
        if self._scrapes is None:
            return None, None, None
        window = idle = None
        try:
            window, idle = self._scrapes.windows()
            return above_idle(window, idle), window, idle
        except ScrapeError as error:
            self._missing["node_exporter"] = str(error)
            return None, window, idle


def _usage(found: SourceTime, tree: ServerUsage | None = None) -> ServerUsage:
    """A source's time as the server's, with memory and processes of the tree if there is one."""
    return ServerUsage(
        user_us=found.user_us,
        system_us=found.system_us,
        seconds=found.seconds,
        memory_bytes=None if tree is None else tree.memory_bytes,
        processes=0 if tree is None else tree.processes,
        source=found.source,
        error_us=found.error_us,
        bias_us=found.bias_us,
        queued_us=None if tree is None else tree.queued_us,
        throttled_us=None if tree is None else tree.throttled_us,
    )
