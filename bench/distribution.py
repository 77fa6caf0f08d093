"""A part of `make bench`: the cost of a generator on a host through Ray, against one without.

The same load comes alternately from the lab's own engine, and from one host that is the only node
of a Ray cluster on loopback: the server's maximum and the client's processor time per connection
must be equal. Then 1,000 records are merged, and 1,000 simulated hosts, which repeat the events and
the record of one host, report to one head.

Exit codes: 0 every bar met, 1 a bar missed or an interval too wide to judge, 3 could not run.
BENCH_SECONDS and BENCH_BLOCKS change a run's length (5 s) and the number of runs of each kind (10).
"""

import json
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.blocks import BLOCKS, SECONDS, Interval, ratio
from bench.child import PROCESSOR
from bench.results import console
from bench.server import GROUP, SUITE, Server, serving
from tlslab.contract.record import RunRecord
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.generators.choose import generators
from tlslab.lab.generators.host import HostFacts
from tlslab.lab.generators.local import boot_id
from tlslab.lab.generators.several import SeveralHosts
from tlslab.lab.store import to_json
from tlslab.orphans import bound
from tlslab.servers.programs import require_program

NS = 10**9

# The buckets of the times in an engine's totals, in seconds (docs/reference/events.md).
BOUNDS_S = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0,
)  # fmt: skip


@dataclass(frozen=True)
class Repeated:
    """A run's record as data, and the run's duration, warm-up included."""

    record: dict[str, Any]
    seconds: float

    @classmethod
    def of(cls, record: RunRecord) -> "Repeated":
        """The repeatable part of a run of one generator."""
        return cls(to_json(record), record.seconds + record.spec["warmup_ms"] / 1000)


def totals(record: Mapping[str, Any], portion: float) -> dict[str, Any]:
    """An engine's totals after this portion of a run (0 to 1): the same portion of the record.

    All times of a kind are in the bucket of their mean.
    """

    def part(count: int) -> int:
        return round(portion * count)

    def times(name: str) -> dict[str, Any]:
        found = record["summaries"].get(name, {"n": 0, "mean_ms": 0.0})
        count, mean_s = part(found["n"]), found["mean_ms"] / 1000
        counts = [0] * (len(BOUNDS_S) + 1)
        counts[bisect_left(BOUNDS_S, mean_s)] = count
        return {"bounds_s": BOUNDS_S, "counts": counts, "sum_s": count * mean_s, "count": count}

    outcomes = record["outcomes"]
    completed, in_flight = part(outcomes["completed"]), outcomes["in_flight_at_stop"]
    failed = {name: part(count) for name, count in outcomes["failed"].items()}
    unexpected = part(sum(outcomes["unexpected"].values()))
    return {
        "due": None,
        "arrivals": completed + sum(failed.values()) + unexpected + in_flight,
        "completed": completed,
        "failed": failed,
        "unexpected": unexpected,
        "requests": part(record["requests"]),
        "in_flight": in_flight,
        **{name: times(name) for name in ("handshake", "service", "exchange")},
        "response": None,
        "cpu": {name: part(record["cpu"][name]) for name in ("user_us", "system_us")},
    }


class RepeatingHost:
    """A `host.Host`. All of these claim to be this machine, so that one pre-test serves all."""

    def __init__(self, number: int, repeated: Repeated) -> None:
        self.facts = HostFacts(f"host-{number}", (), "x86_64", boot_id())
        self._number = number
        self._repeated = repeated

    def now_ns(self) -> int:
        """The clock of this machine."""
        return time.monotonic_ns()

    def open(self, spec: Mapping[str, Any], flags: Sequence[str]) -> "RepeatingConversation":
        """A run like the repeated one."""
        return RepeatingConversation(spec, self._repeated, self._number)

    def ask(self, flags: Sequence[str], given: bytes, seconds: float) -> dict[str, Any]:
        """The pre-test's answer: every host has the same capacity."""
        return {"handshakes": {"handshakes_per_s": 1000.0}}

    def close(self) -> None:
        """Does nothing: nothing runs."""


class RepeatingConversation:
    """A `host.Conversation` with the events of a run: ready, a progress each second, its end."""

    def __init__(self, spec: Mapping[str, Any], repeated: Repeated, late_us: int) -> None:
        self._spec = spec
        self._late_us = late_us
        self._repeated = repeated
        self._pending: list[dict[str, Any]] = [{"event": "ready", "now_ns": time.monotonic_ns()}]
        self._begin_ns: int | None = None
        self._unix_s = 0.0
        self._said = 0
        self._has_reported = False

    def events(self, wait_s: float) -> list[dict[str, Any]]:
        """The events since the last call."""
        found, self._pending = self._pending, []
        if not found:
            time.sleep(wait_s)
        elapsed = self._elapsed_s()
        while self._said + 1 <= elapsed:
            self._said += 1
            found.append(self._progress(float(self._said)))
        if self.ended() and not self._has_reported:
            self._has_reported = True
            seconds = self._repeated.seconds
            whole = totals(self._repeated.record, 1.0)
            found.append({"event": "ended", "at_s": seconds, "totals": whole})
        if found or self.ended():
            return found
        return [{"event": "alive", "now_ns": time.monotonic_ns()}]

    def _progress(self, at_s: float) -> dict[str, Any]:
        """The second that ends at `at_s`: each is like the others."""
        record, seconds = self._repeated.record, self._repeated.seconds
        done = totals(record, at_s / seconds)
        per_s = record["outcomes"]["completed"] / seconds
        return {
            "event": "progress",
            "at_s": at_s,
            "completed": done["completed"],
            "failed": sum(done["failed"].values()) + done["unexpected"],
            "left_s": seconds - at_s,
            "offered_per_s": None,
            "started_per_s": per_s,
            "connections_per_s": per_s,
            "requests_per_s": record["requests"] / seconds,
            "in_flight": done["in_flight"],
            "waiting": 0,
            "totals": done,
        }

    def _elapsed_s(self) -> float:
        if self._begin_ns is None:
            return -1.0
        return min((time.monotonic_ns() - self._begin_ns) / NS, self._repeated.seconds)

    def start(self, at_ns: int, unix_s: float) -> None:
        """Starts the run at that instant."""
        self._begin_ns, self._unix_s = at_ns, unix_s

    def interrupt(self) -> None:
        """Does nothing: nothing runs."""

    def ended(self) -> bool:
        """Whether the run's time is over."""
        return self._elapsed_s() >= self._repeated.seconds

    def result(self) -> dict[str, Any]:
        """The repeated record, for this host's specification and start."""
        # Equal records are refused: each starts a microsecond later.
        late_s = self._late_us / 1e6
        monotonic_s = (self._begin_ns or 0) / NS + late_s
        started = {"unix_s": self._unix_s + late_s, "monotonic_s": monotonic_s}
        return {**self._repeated.record, "spec": dict(self._spec), "started": started}

    def close(self) -> None:
        """Does nothing: nothing runs."""


HOSTS = 1000
MERGE_LIMIT_S = 10.0

# A ratio differs from 1 if its interval is further away than this.
SAME = 0.01

# A ratio counts as 1 if its interval is within this distance: a wider one proves nothing.
WIDTH = 0.05

CONNECTIONS = 16
PORT = 6390
START_S = 60.0
END_S = 40.0

MIB = 1 << 20

Judgement = Literal["met", "MISSED", "CANNOT TELL"]


def spec_of(server: Server) -> dict[str, Any]:
    """The highest possible rate of new connections."""
    return {
        "schema": "tlslab.spec/1",
        "url": server.url,
        "connections": CONNECTIONS,
        "cpus": [PROCESSOR],
        "warmup_ms": 500,
        "stop": {"duration_ms": round(SECONDS * 1000)},
        "tls": {
            "versions": ["1.3"],
            "groups": [GROUP],
            "suites": [SUITE],
            "trust": {"pem": server.ca_file.read_text("ascii")},
            "authenticate": "sampled",
            "key_share": "reused",
        },
    }


@contextmanager
def one_node(folder: Path) -> Iterator[str]:
    """A Ray cluster of one node, with a token of its own; yields its address.

    Raises CannotRunError.
    """
    ray = Path(sys.executable).parent / "ray"
    if not ray.exists():
        raise CannotRunError("Ray is not installed", "make dev")
    command = [ray, "start", "--head", f"--port={PORT}"]
    command += ["--num-cpus=1", "--include-dashboard=false", "--include-log-monitor=false"]
    command += ["--disable-usage-stats", "--object-store-memory=80000000", "--block"]
    # For the node and for this program, which joins the cluster.
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    os.environ |= {"RAY_worker_niceness": "0", "RAY_enable_worker_prestart": "0"}
    log = folder / "ray.log"
    with log.open("w") as output:
        node = subprocess.Popen([*bound("TERM"), *map(str, command)], stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + START_S
        while "runtime started" not in log.read_text():
            if node.poll() is not None or time.monotonic() > deadline:
                raise CannotRunError(f"Ray does not start: {log.read_text()[-300:]}")
            time.sleep(0.1)
        yield f"ray://127.0.0.1:{PORT}"
    finally:
        node.terminate()
        node.wait(END_S)


def compare(
    spec: Mapping[str, Any], pools: Mapping[str, GeneratorPool]
) -> tuple[dict[str, list[RunRecord]], dict[str, Interval]]:
    """The records of each pool, run in turns, and the ratios of `ray` over `local`."""
    records: dict[str, list[RunRecord]] = {name: [] for name in pools}
    for block in range(BLOCKS):
        for name in sorted(pools, reverse=bool(block % 2)):
            records[name].append(pools[name].run(spec, lambda event: None))
    found = {}
    for title, measure in (("server's maximum", rate), ("client's time", client_us)):
        ray, local = (dict(enumerate(map(measure, records[n]))) for n in ("ray", "local"))
        found[title] = ratio(ray, local)
    return records, found


def rate(record: RunRecord) -> float:
    """Completed connections per second."""
    return record.outcomes.completed / record.seconds


def client_us(record: RunRecord) -> float:
    """The generator's processor time per connection, in microseconds."""
    return (record.cpu.user_us + record.cpu.system_us) / record.outcomes.completed


def judge(found: Interval) -> Judgement:
    """The judgement on a ratio's interval: no change, a change, or neither is shown."""
    if found.low > 1 + SAME or found.high < 1 - SAME:
        return "MISSED"
    if found.n < 2 or found.low < 1 - WIDTH or found.high > 1 + WIDTH:
        return "CANNOT TELL"
    return "met"


def merge_s(record: RunRecord, folder: Path) -> float:
    """The time of `tlslab-load merge` for as many records as there are hosts, in seconds."""
    content, named = to_json(record), []
    for number in range(HOSTS):
        path = folder / f"{number}.json"
        # Equal records are refused: each starts a microsecond later.
        content["started"]["unix_s"] += 1e-6
        path.write_text(json.dumps(content), "utf-8")
        named.append(f"host-{number}={path}")
    start = time.monotonic()
    command = [require_program("tlslab-load"), "merge", "--json", *named]
    done = subprocess.run(command, capture_output=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode > 1:
        raise CannotRunError(f"merge ended with {done.returncode}: {done.stderr[-300:]!r}")
    return seconds


def simulate(spec: Mapping[str, Any], repeated: Repeated) -> tuple[float, float]:
    """A run of the same number of simulated hosts: seconds beyond the run's own, and MiB used."""
    hosts = [RepeatingHost(number, repeated) for number in range(HOSTS)]
    # Each host has at least one connection.
    wanted = {**spec, "connections": HOSTS * CONNECTIONS, "cpus": []}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.monotonic()
    with SeveralHosts(hosts, "fail", require_program("tlslab-load"), boot_id()) as pool:
        pool.run(wanted, lambda event: None)
    seconds = time.monotonic() - start - repeated.seconds
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / MIB


def show(bars: Sequence[tuple[str, Judgement]]) -> bool:
    """Prints each bar; returns whether all are met."""
    for words, judgement in bars:
        console.print(f"{judgement:<11} {words}")
    return all(judgement == "met" for _, judgement in bars)


def main() -> int:
    """Runs all parts; returns the exit code."""
    try:
        with tempfile.TemporaryDirectory(prefix="tlslab-bench-") as name:
            folder = Path(name)
            with serving(folder) as server, one_node(folder) as address:
                spec = spec_of(server)
                with generators(None) as local, generators(address) as ray:
                    records, found = compare(spec, {"local": local, "ray": ray})
            merging = merge_s(records["local"][0], folder)
            repeated = Repeated.of(records["local"][0])
            seconds, memory = simulate(spec, repeated)
    except TlslabError as error:
        console.print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    bars: list[tuple[str, Judgement]] = [
        (f"{title}, one host through Ray over none: {each:.4f}, n = {each.n}", judge(each))
        for title, each in found.items()
    ]
    merge_bar = f"{HOSTS:,} records are merged in {merging:.1f} s, {MERGE_LIMIT_S:.0f} s at most"
    console.print(
        f"{HOSTS:,} simulated hosts: {seconds:.1f} s beside the run's own {repeated.seconds:.1f} s "
        f"(clocks, shares, events, merging), {memory:.0f} MiB more on the head"
    )
    bars.append((merge_bar, "met" if merging <= MERGE_LIMIT_S else "MISSED"))
    return 0 if show(bars) else 1


if __name__ == "__main__":
    sys.exit(main())
