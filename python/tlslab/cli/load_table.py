"""The table of `tlslab load`: a run's record beside the use of the whole machine.

The measured quantity leads: connections, or requests if connections are kept open. A quantity that
was not measured is `-`, never 0.
"""

from collections.abc import Iterator, Mapping

from rich.table import Table
from rich.text import Text

from tlslab.domain.distribution import needed_n
from tlslab.domain.plain import plain
from tlslab.domain.record import ClientTimes, RunRecord, TimeSummary
from tlslab.domain.server_side import SOURCE_WORDS, ServerSide
from tlslab.domain.trial import MachineUsage, ServerUsage
from tlslab.domain.wording import counted, figure
from tlslab.report.host_words import time_words

NOTHING = "-"

# The verdict of a run without any warning.
VALID = "valid"

Rows = Iterator[tuple[str, str]]


def load_table(
    record: RunRecord,
    machine: MachineUsage | None,
    server: ServerUsage | None = None,
    side: ServerSide | None = None,
) -> Table:
    """The table of a record, with the known processor time of the server."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(record, machine, server, side):
        table.add_row(Text(name, style="dim"), Text(plain(value, 1000)))
    return table


def _rows(
    record: RunRecord,
    machine: MachineUsage | None,
    server: ServerUsage | None,
    side: ServerSide | None,
) -> Rows:
    yield from _rates(record)
    yield from _open_loop(record)
    yield from _steps(record)
    yield from _times(record.load_summaries)
    yield from _clients(record)
    yield from _hosts(record)
    yield "failed", _counts(record.outcomes.failed)
    yield "unexpected", _counts(record.outcomes.unexpected)
    yield "client CPU", _client_cost(record)
    if side is not None:
        yield from _server(record, server, side)
    yield "machine", NOTHING if machine is None else _machine(machine)
    if machine is not None and machine.energy:
        used = ", ".join(f"{each.package} {each.joules:,.1f} J" for each in machine.energy)
        yield "energy", f"{used}, all programs together"
    yield "target", f"{record.spec['url']} ({record.address})"
    yield "back end", _client(record)
    facts = "; ".join(f"{f.tls} {f.suite} {f.group} × {f.count:,}" for f in record.facts)
    yield "handshakes", facts or NOTHING
    for note in record.notes:
        yield "note", note
    for verdict in record.verdicts:
        # A valid run's sentence starts with that word.
        is_valid = verdict.code == VALID
        yield "verdict", verdict.message if is_valid else f"{verdict.code}: {verdict.message}"


def kept_open(record: RunRecord) -> bool:
    """Whether connections stay open: the run then measures requests."""
    return record.spec.get("requests_per_connection") == "unlimited"


def _rates(record: RunRecord) -> Rows:
    """The measured quantity first, then the others, with rates."""
    connections = _rate(record.outcomes.completed, record.seconds, "connection")
    requests = _rate(record.requests, record.seconds, "request")
    if kept_open(record):
        yield "requests", requests
        held = record.outcomes.in_flight_at_stop
        yield "connections", f"{counted(held, 'connection')} kept open"
        return
    yield "connections", connections
    if record.requests > record.outcomes.completed:
        yield "requests", requests


def _rate(number: int, seconds: float, what: str) -> str:
    if not number or not seconds:
        return f"{NOTHING} (none was completed in {seconds:.2f} s)"
    return f"{figure(number / seconds)} {what}s/s ({counted(number, what)} in {seconds:.2f} s)"


def _client_cost(record: RunRecord) -> str:
    """The client's processor time per connection, or per request."""
    return _cost(record, record.cpu.user_us, record.cpu.system_us)


def _cost(record: RunRecord, user_us: float, system_us: float, error_us: float = 0.0) -> str:
    number = record.requests if kept_open(record) else record.outcomes.completed
    what = "request" if kept_open(record) else "connection"
    if not number:
        return NOTHING
    error = f" ± {error_us / number:.1f}" if error_us else ""
    return (
        f"{(user_us + system_us) / number:.1f}{error} µs per {what} "
        f"({user_us / number:.1f} user, {system_us / number:.1f} system)"
    )


def _server(record: RunRecord, server: ServerUsage | None, side: ServerSide) -> Rows:
    """The server's processor time, its source, and the readings of the other sources."""
    if server is None or side.used is None:
        reasons = [side.missing[name] for name in ("node_exporter", "process_tree")
                   if name in side.missing]  # fmt: skip
        yield "server CPU", f"{NOTHING} ({reasons[0] if reasons else 'no source gave any'})"
        return
    # The server is metered a little longer or shorter than the engine measures: rates, not totals.
    scale = record.seconds / server.seconds
    yield (
        "server CPU",
        _cost(record, server.user_us * scale, server.system_us * scale, server.error_us * scale),
    )
    processes = "1 process" if server.processes == 1 else f"{server.processes} processes"
    program = f" ({side.program}, {processes})" if side.program else ""
    yield "by", SOURCE_WORDS[side.used] + ("" if side.used == "node_exporter" else program)
    for other in side.sources:
        if other.source not in (side.used, "node_exporter"):
            ratio = other.total_us / max(1, server.user_us + server.system_us)
            yield "", f"{SOURCE_WORDS[other.source]}: {ratio:.3f} times that"
    if side.idle is not None and side.used == "node_exporter":
        yield "", f"{side.idle:.3f} processors were busy before the load, and are taken off"


def _client(record: RunRecord) -> str:
    """The maker of the handshakes: a library, or the engine's minimal client."""
    by_own = f" ({counted(record.minimal_client, 'handshake')} by the minimal client)"
    return record.backend + (by_own if record.minimal_client else "")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def _open_loop(record: RunRecord) -> Rows:
    if record.open_loop is None:
        return
    loop = record.open_loop
    yield (
        "arrivals",
        f"{loop.arrivals:,} due, {loop.offered_per_s:,.1f}/s; {loop.started:,} started, "
        f"{loop.achieved_per_s:,.1f}/s; {loop.blocked:,} blocked, "
        f"{loop.waiting_at_stop:,} still waiting",
    )


def _hosts(record: RunRecord) -> Rows:
    """The work of each of several generators."""
    for host in record.hosts:
        parts = [_rate(host.outcomes.completed, host.seconds, "connection")]
        if host.start_skew_s:
            parts.append(f"began {time_words(host.start_skew_s)} after the first")
        if host.found is not None and host.found.clock is not None:
            parts.append(f"clock known to {time_words(host.found.clock.uncertainty_s)}")
        if host.lost is not None:
            lost = counted(host.outcomes.lost_with_host, "connection")
            parts.append(f"lost: {host.lost.reason}, {lost} in flight")
        yield f"generator {host.name}", "; ".join(parts)


def _steps(record: RunRecord) -> Rows:
    for step in record.steps:
        level = f"{step.connections:,} at once" if step.rate is None else f"{step.rate:,g}/s"
        times = step.summaries.get("service" if step.rate is None else "response")
        failed = sum(step.failed.values()) + sum(step.unexpected.values())
        # Steps of merged records have no times.
        shown = "" if times is None else f", {_quantiles(times)}"
        rate = f"{step.completed / step.seconds:,.0f}" if step.completed and step.seconds else "-"
        yield f"step {level}", f"{rate} connections/s, {failed:,} failed{shown}"


def _times(summaries: Mapping[str, TimeSummary]) -> Rows:
    """The times that have values."""
    for name, times in summaries.items():
        if times.n:
            yield f"{name} ms", _quantiles(times)


def _clients(record: RunRecord) -> Rows:
    """The clients if there were two: the one whose times are shown, and the other's times."""
    ranked = sorted(record.clients.items(), key=lambda item: -item[1].connections)
    for place, (name, times) in enumerate(ranked):
        made = counted(times.connections, "connection")
        yield f"{name} client", f"{made}, {_handshake(times, place == 0)}"


def _handshake(times: ClientTimes, shown: bool) -> str:
    if shown or (handshake := times.summaries.get("handshake")) is None:
        return "whose times are shown" if shown else "whose times are apart"
    return f"apart: handshake ms {_quantiles(handshake)}"


def _quantiles(times: TimeSummary) -> str:
    """The quantiles of the engine's summary; `-` for one with too few values for an interval."""
    if not times.n:
        return NOTHING
    values = (
        (50, times.p50_ms), (90, times.p90_ms), (99, times.p99_ms), (99.9, times.p999_ms),
    )  # fmt: skip
    shown = [
        f"p{p} {value:.3f}" if times.n >= needed_n(p / 100) else f"p{p} {NOTHING}"
        for p, value in values
    ]
    few = f" (-: too few of {times.n:,} values)" if times.n < needed_n(0.999) else ""
    return f"{', '.join(shown)}, max {times.max_ms:.3f} ms{few}"


def _machine(machine: MachineUsage) -> str:
    """The whole machine's processors over the engine's lifetime, warm-up and start included."""
    shares = ", ".join(f"{100 * each.busy:.0f} %" for each in machine.per_processor)
    steal = 100 * machine.steal_us / max(machine.seconds * 1e6, 1) / len(machine.per_processor)
    return f"processors busy {shares}; steal {steal:.1f} %"
