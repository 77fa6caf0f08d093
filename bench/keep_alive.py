"""Requests on connections that stay open: the generator against wrk and h2load, on one nginx.

4 KiB, 128 connections, one request at a time on each, HTTP/1.1 and HTTP/2, in interleaved blocks.
Part of `make bench`, with the same exit codes and variables as `bench.rivals`.
"""

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE
from rich.table import Table

from bench.blocks import BLOCKS, SECONDS, SEED, Interval
from bench.child import run
from bench.generators import Command, Generator, h2load, tlslab_load_requests, wrk
from bench.results import Bar, Results, Sample, as_run, console, write
from bench.server import GROUP, SUITE, Page, Server, serving
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.servers.programs import require_program

CONNECTIONS = 128
PAGE = Page(4096, http2=True)

OLD, NEW = "HTTP/1.1", "HTTP/2.0"
OURS = {OLD: "tlslab-load", NEW: "tlslab-load --http 2"}
RIVALS = {OLD: ("wrk", "h2load --h1"), NEW: ("h2load",)}

TIMES_BAR = 1.3

# The facts that nginx logs for each request before the measurement, and their required values.
FACTS = "$ssl_protocol $ssl_cipher $ssl_curve $server_protocol $status"


def main() -> int:
    """Runs the bench; returns the exit code."""
    try:
        return _bench()
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code


def contestants() -> list[Generator]:
    """All generators, ours first."""

    def over(*flags: str) -> Command:
        return lambda server, seconds, rate: [
            "h2load", *flags, "-t1", f"-c{CONNECTIONS}", "-D", f"{seconds:.0f}",
            "--groups", GROUP, "--tls13-ciphers", SUITE, server.url,
        ]  # fmt: skip

    ours = tlslab_load_requests
    return [
        Generator(OURS[OLD], _tlslab("1.1"), ours, ours=True),
        Generator(OURS[NEW], _tlslab("2"), ours, ours=True),
        Generator("wrk", _wrk, wrk),
        Generator("h2load --h1", over("--h1"), h2load),
        Generator("h2load", over(), h2load),
    ]


def _tlslab(http: str) -> Command:
    program = require_program("tlslab-load")

    def command(server: Server, seconds: float, rate: int) -> list[str]:
        load = [program, "--json", "-c", str(CONNECTIONS), "-d", f"{seconds:g}s"]
        keep = ["--requests-per-connection", "unlimited", "--http", http]
        offer = ["--tls", "1.3", "--group", GROUP, "--suite", SUITE]
        return [*load, *keep, *offer, "--ca", str(server.ca_file), server.url]

    return command


def _wrk(server: Server, seconds: float, rate: int) -> list[str]:
    return ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", server.url]


def _bench() -> int:
    generators = contestants()
    for generator in generators:
        _verify(generator)
    results = Results(rivals=[one.name for one in generators if not one.ours])
    order = random.Random(SEED)
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), PAGE) as server,
    ):
        for block in range(BLOCKS):
            began = time.monotonic()
            for one in order.sample(generators, len(generators)):
                results.add(one.name, block, _measure(one, server, SECONDS))
            spent = time.monotonic() - began
            print(f"keep-alive, block {block + 1} of {BLOCKS}: {spent:.0f} s", flush=True)
    found = bars(results)
    _show(results, [one.name for one in generators], found)
    print(f"results: {write('keep-alive', _setting(), _as_json(results, found))}")
    return 0 if all(bar.met for bar in found) else 1


def _measure(generator: Generator, server: Server, seconds: float) -> Sample:
    done = run(generator.command(server, seconds, 0), seconds, server.worker)
    return Sample(done, generator.answer(done.output, done.code))


def _verify(generator: Generator) -> None:
    """One second against a server that logs: all requests must have the intended HTTP version."""
    protocol = NEW if generator.name in (OURS[NEW], *RIVALS[NEW]) else OLD
    wanted = f"TLSv1.3 {SUITE} {GROUP} {protocol} 200"
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), PAGE, FACTS) as server,
    ):
        counted = _measure(generator, server, 1.0).counted
        with server.facts_log.open(encoding="utf-8") as lines:
            facts = Counter(line.strip() for line in lines)
    right = facts.pop(wanted, 0)
    print(f"{generator.name}: {right:,} requests as {wanted}, {sum(facts.values())} others")
    if facts or right == 0 or counted.failed:
        raise CannotRunError(f"{generator.name} did not make the requests that are to be compared")


def best(results: Results, protocol: str) -> str:
    """The rival with the lowest cost in a version of HTTP."""
    return min(RIVALS[protocol], key=lambda name: results.cost(name).value)


def bars(results: Results) -> list[Bar]:
    """Every bar, met if the interval over the blocks lies beyond it."""
    found = []
    for protocol, ours in OURS.items():
        rival = best(results, protocol)
        times = results.over(rival, ours)
        text = f"{protocol}: {rival} needs at least {TIMES_BAR} times the processor time of {ours}"
        found.append(Bar(text, f"{times:.2f}", times.low >= TIMES_BAR))
    return found


def _over_ours(results: Results, name: str) -> Interval | None:
    ours = next((OURS[protocol] for protocol in OURS if name in RIVALS[protocol]), None)
    return None if ours is None else results.over(name, ours)


def _show(results: Results, names: Sequence[str], found: Sequence[Bar]) -> None:
    title = "Generator's processor time per request on open connections, microseconds"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("generator", no_wrap=True)
    for heading in ("CPU (95 %)", "user", "system", "requests/s", "failed", "over ours"):
        table.add_column(heading, justify="right")
    for name in names:
        samples = list(results.samples[name].values())
        requests = sum(sample.counted.completed for sample in samples)
        over = _over_ours(results, name)
        table.add_row(
            name,
            f"{results.cost(name):.2f}",
            f"{sum(s.run.user_us for s in samples) / requests:.2f}",
            f"{sum(s.run.system_us for s in samples) / requests:.2f}",
            f"{sum(s.per_s for s in samples) / len(samples):,.0f}",
            f"{sum(s.counted.failed for s in samples)}",
            "" if over is None else f"{over:.2f}",
        )
    console.print(table)
    for bar in found:
        mark = "[green]met      [/]" if bar.met else "[red]not shown[/]"
        console.print(f"{mark} {bar.text}: {bar.found}")


def _setting() -> dict[str, object]:
    load = {"connections": CONNECTIONS, "document_bytes": PAGE.document_bytes}
    return {"blocks": BLOCKS, "seconds": SECONDS, "seed": SEED, **load}


def _as_json(results: Results, found: Sequence[Bar]) -> dict[str, object]:
    """Every run by generator and block; the fields of connections count requests here."""
    return {
        "runs": {
            name: {str(block): as_run(sample) for block, sample in by_block.items()}
            for name, by_block in results.samples.items()
        },
        "cpu_us_per_request": {name: asdict(results.cost(name)) for name in results.samples},
        "bars": [asdict(bar) for bar in found],
    }


if __name__ == "__main__":
    sys.exit(main())
