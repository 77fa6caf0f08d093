"""`tlslab load`: the engine as it is, with the lab's accounting of the machine beside it."""

import json
import signal
import subprocess
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import out
from tlslab.lab.accounting import Meter
from tlslab.lab.programs import require_program
from tlslab.model.errors import StoreError
from tlslab.model.record import ClientTimes, MachineUsage, RunRecord
from tlslab.report import plain
from tlslab.store import from_json
from tlslab.targets.guard import bound


def command(
    arguments: Annotated[
        list[str], typer.Argument(metavar="URL ...", help="As for tlslab-load; see its --help.")
    ],
) -> None:
    """Load a server with tlslab-load, and tell what the whole machine did meanwhile."""
    program = require_program("tlslab-load")
    if any(argument in ("--help", "-h", "--json", "--events") for argument in arguments):
        raise typer.Exit(subprocess.run([program, *arguments], check=False).returncode)
    allowed = [word for host in read_allow_file() for word in ("--allow", host)]
    live = [] if "--progress" in arguments else ["--progress"]
    code, output, machine = _run([program, "--json", *live, *allowed, *arguments])
    record = _record(output)
    if record is not None:
        out.print(_table(record, machine))
    raise typer.Exit(code)


def _run(command_line: list[str]) -> tuple[int, bytes, MachineUsage]:
    """Runs the engine; its exit code, its standard output, and the machine's use meanwhile.

    It ends with the lab, even when the lab is killed. An interruption is passed on to it, since it
    then still has the record so far to print.
    """
    meter = Meter([])
    meter.begin()
    child = subprocess.Popen(
        [*bound("KILL"), *command_line],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, _ = child.communicate()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        meter.end()
    return child.returncode, output, meter.machine()


def _record(output: bytes) -> RunRecord | None:
    """The record; None when there is none, of which the engine itself has told why."""
    try:
        return from_json(json.loads(output), RunRecord)
    except (ValueError, StoreError):
        return None


def _client(record: RunRecord) -> str:
    """Who made the handshakes: a library, or the engine's own client."""
    by_own = f" ({record.own_client:,} handshakes by tlslab's own client)"
    return record.backend + (by_own if record.own_client else "")


def _table(record: RunRecord, machine: MachineUsage) -> Table:
    completed = record.outcomes.completed
    each = max(completed, 1)
    table = Table(box=None, show_header=False, pad_edge=False)
    rows = [
        ("target", f"{record.spec['url']} ({record.address})"),
        ("back end", _client(record)),
        ("handshakes", "; ".join(f"{f.tls} {f.suite} {f.group} x {f.count}" for f in record.facts)),
        ("completed", f"{completed:,} in {record.seconds:.2f} s"),
        ("failed", _counts(record.outcomes.failed)),
        ("unexpected", _counts(record.outcomes.unexpected)),
        ("rate", f"{completed / record.seconds:,.0f} connections/s" if record.seconds else "-"),
        *_open_loop(record),
        *_steps(record),
        (
            "client CPU",
            f"{record.cpu.total_us / each:.1f} us per connection "
            f"({record.cpu.user_us / each:.1f} user, {record.cpu.system_us / each:.1f} system)",
        ),
        *_times(record),
        *_clients(record),
        ("machine", _machine(machine)),
        *(("note", note) for note in record.notes),
        *(("verdict", f"{verdict.code}: {verdict.message}") for verdict in record.verdicts),
    ]
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(plain(value)))
    return table


def _counts(counts: Any) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def _open_loop(record: RunRecord) -> list[tuple[str, str]]:
    if record.open_loop is None:
        return []
    loop = record.open_loop
    words = (
        f"{loop.arrivals:,} due, {loop.offered_per_s:,.1f}/s; {loop.started:,} started, "
        f"{loop.achieved_per_s:,.1f}/s; {loop.blocked:,} blocked, "
        f"{loop.waiting_at_stop:,} still waiting"
    )
    return [("arrivals", words)]


def _steps(record: RunRecord) -> list[tuple[str, str]]:
    rows = []
    for step in record.steps:
        level = f"{step.connections} at once" if step.rate is None else f"{step.rate:g}/s"
        times = step.summaries["service" if step.rate is None else "response"]
        failed = sum(step.failed.values()) + sum(step.unexpected.values())
        rate = step.completed / step.seconds if step.seconds else 0.0
        words = f"{rate:,.0f} connections/s, {failed:,} failed, "
        rows.append((f"step {level}", words + f"p50 {times.p50_ms:.2f}, p99 {times.p99_ms:.2f} ms"))
    return rows


def _times(record: RunRecord) -> list[tuple[str, str]]:
    return [
        (f"{name} ms", f"p50 {times.p50_ms:.2f}, p95 {times.p95_ms:.2f}, p99 {times.p99_ms:.2f}")
        for name, times in record.load_summaries.items()
    ]


def _clients(record: RunRecord) -> list[tuple[str, str]]:
    """Whose times are shown where two clients made connections, and those of the other."""
    ranked = sorted(record.clients.items(), key=lambda item: -item[1].connections)
    return [
        (f"{name} client", f"{times.connections:,} connections, {_handshake(times, place == 0)}")
        for place, (name, times) in enumerate(ranked)
    ]


def _handshake(times: ClientTimes, shown: bool) -> str:
    if shown or (handshake := times.summaries.get("handshake")) is None:
        return "whose times are shown" if shown else "whose times are apart"
    return f"apart: handshake ms p50 {handshake.p50_ms:.2f}, p99 {handshake.p99_ms:.2f}"


def _machine(machine: MachineUsage) -> str:
    """The whole machine's processors over the engine's lifetime, warm-up and start included."""
    shares = ", ".join(f"{100 * each.busy:.0f} %" for each in machine.per_processor)
    steal = 100 * machine.steal_us / max(machine.seconds * 1e6, 1) / len(machine.per_processor)
    return f"processors busy {shares}; steal {steal:.1f} %"
