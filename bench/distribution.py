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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from bench.child import PROCESSOR
from bench.intervals import Interval, ratio
from bench.server import GROUP, SUITE, Server, serving
from bench.settings import BLOCKS, SECONDS
from bench.simulated_hosts import Repeated, RepeatingHost
from bench.tables import console
from tlslab.contract.record import RunRecord
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.generators.choose import generators
from tlslab.lab.generators.local import boot_id
from tlslab.lab.generators.several import SeveralHosts
from tlslab.lab.programs import require_program
from tlslab.lab.store import to_json
from tlslab.orphans import bound

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
