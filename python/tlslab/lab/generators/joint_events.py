"""The events of several engines, joined into those of one run."""

from collections.abc import Mapping, Sequence
from typing import Any

from tlslab.lab.engine_output import Event, Listener

PHASES = ("prime", "warmup", "measure", "drain", "done")

# The fields that are added up over the events of all hosts.
_SUMS = (
    "completed", "failed", "started_per_s", "connections_per_s", "requests_per_s", "in_flight",
    "waiting",
)  # fmt: skip
_COUNTS = ("completed", "failed", "totals")
_TIMES = ("service", "response", "exchange")


class JointEvents:
    """Passes on one run's events: the first preflight, each phase once, progress added up.

    A phase becomes the run's as soon as the first host enters it. Progress is reported when every
    host has reported a second; the list `hosts` has each host's own report, with its name in
    `host`. Percentiles cannot be added: those of the whole are left out, unless there is one host.
    A loss is an event of its own, `lost`. The counts of a host that has ended or is lost stay in
    the sums, and its reports are not awaited.
    """

    def __init__(self, names: Sequence[str], listener: Listener) -> None:
        self._order = tuple(names)
        self._listener = listener
        self._preflight = False
        self._phase = -1
        self._latest: dict[str, Event] = {}
        # By kind of event: the hosts that have reported since the last joint event, and the hosts
        # whose report is still missing.
        self._new: dict[str, set[str]] = {"progress": set(), "ended": set()}
        self._awaited = {kind: set(names) for kind in self._new}

    def take(self, name: str, event: Event) -> None:
        """The next event of a host."""
        match event["event"]:
            case "preflight" if not self._preflight:
                self._preflight = True
                self._listener(event)
            case "phase" if event["phase"] in PHASES:
                place = PHASES.index(event["phase"])
                if place > self._phase:
                    self._phase = place
                    self._listener(event)
            case "progress" | "ended" as kind:
                if name in self._new["progress"]:
                    # Another host is late by a second: its last report counts.
                    self._report("progress")
                if kind == "ended":
                    self._awaited["progress"].discard(name)
                self._latest[name] = {**counts_of(self._latest.get(name, {})), **event}
                self._new[kind].add(name)
                self._report_if_whole()

    def leave(self, name: str, reason: str) -> None:
        """Notes the loss of a host: its last counts stay, and its reports are not awaited."""
        self._listener(loss(name, reason))
        for names in (*self._awaited.values(), *self._new.values()):
            names.discard(name)
        self._latest[name] = lost_with(self._latest.get(name, {}))
        self._report_if_whole()

    def last_of(self, name: str) -> Event | None:
        """The last report of a host that is not lost; None before its first one."""
        return self._latest.get(name)

    def _report_if_whole(self) -> None:
        for kind, new in self._new.items():
            if new and new >= self._awaited[kind]:
                self._report(kind)

    def _report(self, kind: str) -> None:
        self._new[kind].clear()
        there = [name for name in self._order if name in self._latest]
        hosts = [{"host": name, **self._latest[name]} for name in there]
        whole = added(list(self._latest.values()))
        if kind == "ended":
            whole = {name: whole[name] for name in ("at_s", "totals") if name in whole}
        self._listener({**whole, "event": kind, "hosts": hosts})


def counts_of(event: Event) -> dict[str, Any]:
    """A host's counts since its measurement started, without rates and times."""
    return {name: event[name] for name in _COUNTS if name in event}


def loss(name: str, reason: str) -> Event:
    """The event of a host's loss, with the reason."""
    return {"event": "lost", "host": name, "reason": reason}


def lost_with(event: Event) -> dict[str, Any]:
    """The last counts of a lost host, if any, without rates: its present state is unknown."""
    done = counts_of(event)
    if isinstance(totals := event.get("totals"), Mapping):
        done["totals"] = {**totals, "in_flight": 0}
    return {"event": event.get("event", "progress"), **done, "lost": True}


def added(events: Sequence[Event]) -> dict[str, Any]:
    """The progress of several hosts as that of one; at least one host."""
    whole: dict[str, Any] = {"at_s": max((each.get("at_s", 0.0) for each in events), default=0.0)}
    for name in _SUMS:
        whole[name] = sum(each.get(name, 0) for each in events)
    for name, join in (("offered_per_s", sum), ("left_s", max)):
        known = [each[name] for each in events if each.get(name) is not None]
        whole[name] = join(known) if known else None
    for name in _TIMES:
        whole[name] = events[0].get(name) if len(events) == 1 else None
    totals = [each["totals"] for each in events if isinstance(each.get("totals"), dict)]
    if totals:
        whole["totals"] = added_totals(totals)
    return whole


def added_totals(totals: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts since the start of the measurement, and histograms with equal bounds, added up."""
    whole: dict[str, Any] = {}
    for each in totals:
        for name, value in each.items():
            whole[name] = _sum(whole.get(name), value)
    return whole


def _sum(mine: Any, theirs: Any) -> Any:
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    if isinstance(theirs, Mapping):
        names = dict.fromkeys([*mine, *theirs])
        return {
            name: theirs[name] if name == "bounds_s" else _sum(mine.get(name), theirs.get(name))
            for name in names
        }
    if isinstance(theirs, list):
        return [one + other for one, other in zip(mine, theirs, strict=True)]
    return mine + theirs
