"""A pool of several hosts, whose engines start to load a target at the same instant."""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tlslab.contract.hold import HoldRecord
from tlslab.contract.primitives import Primitives
from tlslab.contract.record import HostFound, Preflight, RunRecord
from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.lab.engine import PREFLIGHT, SLACK_S, Questions, as_input
from tlslab.lab.engine_output import Listener
from tlslab.lab.generators.host import Conversation, Host, HostLostError, said_of
from tlslab.lab.generators.joint_events import loss
from tlslab.lab.generators.joint_run import HOST_LOST, HostRun, JointRun, LostPolicy
from tlslab.lab.generators.merging import LostShare, merged
from tlslab.lab.generators.pool import LostInRunError, require_generator
from tlslab.lab.generators.shares import (
    LostBeforeError,
    handshakes_per_processor,
    most_hosts,
    processors_of,
    split,
    workers_of,
)
from tlslab.lab.store import from_json


class SeveralHosts(Questions):
    """Several hosts as one generator; a GeneratorPool. Questions go to the first host.

    `first`: the number of hosts with which the search for a maximum starts. `here`: the boot ID of
    this machine; `program`: its engine, which merges the records. Later runs leave out hosts that
    can no longer be reached, and under the policy `keep` all lost hosts.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        policy: LostPolicy,
        program: str,
        here: str,
        first: int | None = None,
    ) -> None:
        names = [host.facts.name for host in hosts]
        if len(set(names)) < len(names):
            raise UsageError(f"two hosts have the same name: {', '.join(sorted(names))}")
        self.hosts = list(hosts)
        self._policy = policy
        self._program = program
        self._here = here
        self._first = first
        self._speeds: dict[str, float] = {}
        self._current: JointRun | None = None

    def __enter__(self) -> "SeveralHosts":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything that runs on the hosts."""
        for host in self.hosts:
            try:
                host.close()
            except HostLostError:
                continue

    @property
    def size(self) -> int:
        """The number of remaining hosts."""
        return len(self.hosts)

    def workers(self, spec: Mapping[str, Any]) -> int:
        """The number of workers of all remaining hosts, if the load has connections for them."""
        return sum(workers_of(spec, [host.facts for host in self.hosts], self._here))

    @property
    def first(self) -> int:
        """The number of hosts with which a search starts."""
        return self.size if self._first is None else min(self._first, self.size)

    def run(
        self,
        spec: Mapping[str, Any],
        listener: Listener,
        trace: Path | None = None,
        most: int | None = None,
    ) -> RunRecord:
        """One run on the first `most` remaining hosts, or on all.

        Fewer hosts take part if the load has fewer connections than hosts. Raises EngineError, with
        the class `host_lost` for a lost host: a LostInRunError if the run had started.
        """
        if trace is not None:
            raise EngineError("usage", "the instants of connections are traced on one generator")
        require_generator(self)
        wanted = self.size if most is None else min(most, self.size)
        hosts = self.hosts[: most_hosts(spec, wanted)]
        try:
            run = self._opened(hosts, spec, listener)
        except LostBeforeError as error:
            name = error.host.facts.name
            self._leave_out([error.host])
            listener(loss(name, error.reason))
            words = f"the generator {name} was lost before the load"
            raise EngineError(HOST_LOST, f"{words}: {error.reason}") from None
        self._current = run
        try:
            return self._merged(run.carry_out(), run)
        except EngineError as error:
            if error.class_ != HOST_LOST:
                raise
            raise LostInRunError(error, self._evidence(run)) from None
        finally:
            self._current = None
            run.close()
            gone = [each.run.host for each in run.lost]
            if self._policy == "fail":
                # A host that lost only its engine takes part in later runs.
                gone = [host for host in gone if not _answers(host)]
            self._leave_out(gone)

    def interrupt(self) -> None:
        """Ends the current run; its record then contains the measurement so far."""
        if self._current is not None:
            self._current.interrupt()

    def _leave_out(self, gone: Sequence[Host]) -> None:
        """Leaves these hosts out of all later runs."""
        self.hosts = [host for host in self.hosts if host not in gone]

    def _opened(
        self, hosts: Sequence[Host], spec: Mapping[str, Any], listener: Listener
    ) -> JointRun:
        """The run on these hosts, whose engines get ready. Raises LostBeforeError, EngineError."""
        facts = [host.facts for host in hosts]
        weights = self._weights(hosts, spec)
        runs: list[HostRun] = []
        try:
            for host, share in zip(hosts, split(spec, facts, weights, self._here), strict=True):
                runs.append(HostRun(host, share, _open(host, share)))
        except BaseException:
            for each in runs:
                each.close()
            raise
        load = spec.get("load", {})
        before_s = (spec.get("warmup_ms", 0) + load.get("open_within_ms", 0)) / 1000
        # A run that ends by count has no planned length.
        windows_s = before_s + spec["stop"].get("duration_ms", math.inf) / 1000
        return JointRun(runs, listener, self._policy, before_s, windows_s)

    def _weights(self, hosts: Sequence[Host], spec: Mapping[str, Any]) -> list[float]:
        """The capacity of each host in handshakes per second: a pre-test, once for each machine."""
        if len(hosts) == 1:
            return [1.0]
        new = [host for host in hosts if host.facts.boot_id not in self._speeds]
        if new:
            self._speeds |= handshakes_per_processor(new)
        facts = [host.facts for host in hosts]
        processors = processors_of(spec, facts, self._here)
        # Hosts that share processors get equal parts of them.
        shared = [(each.boot_id, own) for each, own in zip(facts, processors, strict=True)]
        return [
            self._speeds[boot_id] * max(1, len(own)) / (shared.count((boot_id, own)) if own else 1)
            for boot_id, own in shared
        ]

    def _merged(self, runs: Sequence[HostRun], whole: JointRun) -> RunRecord:
        lost = [LostShare(each.run.name, each.run.spec, each.lost) for each in whole.lost]
        records = {run.name: run.record for run in runs if run.record is not None}
        known = [*runs, *(each.run for each in whole.lost)]
        return merged(self._program, records, lost, {run.name: self._found(run) for run in known})

    def _evidence(self, run: JointRun) -> RunRecord | None:
        """The measurement of a run that was given up; None if no host has a record."""
        if not run.recorded:
            return None
        try:
            return self._merged(run.recorded, run)
        except EngineError:
            return None

    def _found(self, run: HostRun) -> HostFound:
        boot_id = run.host.facts.boot_id
        speed = self._speeds.get(boot_id)
        return HostFound(
            boot_id=boot_id,
            handshakes_per_s=None if speed is None else speed * max(1, len(run.spec["cpus"])),
            clock=None if run.clock is None else run.clock.clock(),
        )

    def preflight(self, spec: Mapping[str, Any]) -> tuple[Preflight, str]:
        """One verified connection from each host; returns the first host's findings and back end.

        Raises EngineError for a lost host; later runs continue without that host.
        """
        require_generator(self)
        hosts = tuple(self.hosts)
        with ThreadPoolExecutor(max_workers=len(hosts)) as pool:
            answers = [pool.submit(host.ask, PREFLIGHT, as_input(spec), SLACK_S) for host in hosts]
        asked = list(zip(hosts, (answer.exception() for answer in answers), strict=True))
        lost = [self._lost(host, why) for host, why in asked if isinstance(why, HostLostError)]
        if lost:
            raise lost[0]
        for host, why in asked:
            if isinstance(why, EngineError) and len(hosts) > 1:
                raise said_of(host.facts.name, why) from None
        # All hosts are asked: a fault of any host is reported.
        found = [answer.result() for answer in answers]
        data = found[0]
        return from_json(data["preflight"], Preflight), str(data["backend"])

    def hold(
        self, spec: Mapping[str, Any], levels: Sequence[int], dwell_s: float, listener: Listener
    ) -> HoldRecord:
        """Not supported: a single generator holds idle connections. Raises CannotRunError."""
        raise CannotRunError("idle connections are held by one generator", "leave --generators out")

    def primitives(self, flags: Sequence[str]) -> Primitives:
        """The costs of the named primitives on the first host."""
        require_generator(self)
        return super().primitives(self._pinned(flags))

    def _pinned(self, flags: Sequence[str]) -> list[str]:
        """The flags, with a processor of this machine replaced by one of the first host."""
        facts = self.hosts[0].facts
        if "--cpu" not in flags or facts.boot_id == self._here or not facts.processors:
            return list(flags)
        place = list(flags).index("--cpu")
        return [*flags[: place + 1], str(facts.processors[-1]), *flags[place + 2 :]]

    def _ask(
        self,
        flags: Sequence[str],
        given: bytes,
        seconds: float,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The answer of the first host's engine. Raises EngineError as `preflight` does."""
        if environment:
            raise CannotRunError("keys of a module are measured by one generator")
        require_generator(self)
        host = self.hosts[0]
        try:
            return host.ask(flags, given, seconds)
        except HostLostError as error:
            raise self._lost(host, error) from None

    def _lost(self, host: Host, error: HostLostError) -> EngineError:
        """Leaves out a host that was lost without load; returns the error to raise."""
        self._leave_out([host])
        words = f"the generator {host.facts.name} was lost: {error.reason}"
        return EngineError(HOST_LOST, words)


def _answers(host: Host) -> bool:
    try:
        host.now_ns()
    except HostLostError:
        return False
    return True


def _open(host: Host, share: Mapping[str, Any]) -> Conversation:
    """The conversation with a host's engine. Raises LostBeforeError, EngineError."""
    try:
        return host.open(share, [])
    except HostLostError as error:
        raise LostBeforeError(host, error.reason) from None
