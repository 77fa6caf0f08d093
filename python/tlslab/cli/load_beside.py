"""What `tlslab load` adds to the engine's output: the use of the machine and of the server."""

from rich.table import Table
from rich.text import Text

from tlslab.domain.events import EngineEnded
from tlslab.domain.plain import plain
from tlslab.domain.trial import SOURCE_WORDS, MachineUsage, ServerSide, ServerUsage


def beside_table(
    machine: MachineUsage | None,
    server: ServerUsage | None,
    side: ServerSide | None,
    ended: EngineEnded | None,
    kept_open: bool = False,
) -> Table:
    """The sources of the server's processor time, and the processors of this machine.

    `ended` has the counts of the measurement; `kept_open`: it measured requests.
    """
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = [] if side is None else _server(server, side, ended, kept_open)
    if machine is not None:
        rows.append(("machine", _machine(machine)))
        if machine.energy:
            used = ", ".join(f"{part.package} {part.joules:,.1f} J" for part in machine.energy)
            rows.append(("energy", f"{used}, all programs together"))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(plain(value, 1000)))
    return table


def _server(
    server: ServerUsage | None, side: ServerSide, ended: EngineEnded | None, kept_open: bool
) -> list[tuple[str, str]]:
    """The server's processor time by the source that counts, and the readings of the others."""
    if server is None or side.used is None:
        missing = [side.missing[name] for name in ("node_exporter", "process_tree")
                   if name in side.missing]  # fmt: skip
        return [("server", missing[0] if missing else "no source gave its processor time")]
    source = f"by {SOURCE_WORDS[side.used]}{_program(side, server)}"
    rows = [("server", _cost(server, ended, kept_open) + source)]
    used = max(1, server.user_us + server.system_us)
    rows += [
        ("", f"{SOURCE_WORDS[other.source]}: {other.total_us / used:.3f} times that")
        for other in side.sources
        if other.source not in (side.used, "node_exporter")
    ]
    if side.idle is not None and side.used == "node_exporter":
        busy = f"{side.idle:.3f} processors were busy before the load, and are taken off"
        rows.append(("", busy))
    return rows


def _program(side: ServerSide, server: ServerUsage) -> str:
    if not side.program or side.used == "node_exporter":
        return ""
    processes = "1 process" if server.processes == 1 else f"{server.processes} processes"
    return f" ({side.program}, {processes})"


def _cost(server: ServerUsage, ended: EngineEnded | None, kept_open: bool) -> str:
    """`512.2 µs per connection (436.9 user, 75.3 system), `; empty if nothing was completed.

    The server is metered a little longer or shorter than the engine measures: rates, not totals.
    """
    totals = None if ended is None else ended.totals
    if ended is None or totals is None:
        return ""
    counts = ((totals.completed, "connection"), (totals.requests, "request"))
    number, what = counts[kept_open]
    if not number:
        return ""
    scale = ended.at_s / server.seconds / number
    user, system = server.user_us * scale, server.system_us * scale
    error = f" ± {server.error_us * scale:.1f}" if server.error_us else ""
    return f"{user + system:.1f}{error} µs per {what} ({user:.1f} user, {system:.1f} system), "


def _machine(machine: MachineUsage) -> str:
    """The whole machine's processors over the engine's lifetime, warm-up and start included."""
    shares = ", ".join(f"{100 * part.busy:.0f} %" for part in machine.per_processor)
    steal = 100 * machine.steal_us / max(machine.seconds * 1e6, 1) / len(machine.per_processor)
    return f"processors busy {shares}; steal {steal:.1f} %"
