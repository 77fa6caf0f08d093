"""The servers and the load generators of a run in sentences."""

from tlslab.domain.finding import HostUse, Values
from tlslab.domain.wording import cell_label, counted, figure, level_label, number_word

# The lab's own server in a sentence.
_REFERENCE = {
    "reference": "the reference server",
    "reference-rustls": "the reference server on rustls",
}


def on_server(values: Values) -> str:
    """The server and its size: `on one processor of nginx (TLS 1.3, ECDSA P-256)`."""
    setting = values["setting"]
    if not values["server"]:
        rest = {name: level for name, level in setting.items() if name != "server"}
        host = level_label("server", setting.get("server", values["host"]))
        return f"on {host} ({cell_label(rest)})"
    said = {"server", "front", "processors"}
    rest = {name: level for name, level in setting.items() if name not in said}
    where = f" ({cell_label(rest)})" if rest or not setting else ""
    name, count = server_name(values["server"]), values["processors"]
    if not count:
        return f"on {name}{where}"
    plural = "processor" if count == 1 else "processors"
    return f"on {number_word(count)} {plural} of {name}{where}"


def server_name(name: str) -> str:
    """A managed server in a sentence: `the reference server`, `nginx behind haproxy`."""
    front, plus, back = name.partition("+")
    names = [_REFERENCE.get(each, each) for each in (back, front)]
    return " behind ".join(names) if plus else names[1]


def host_words(host: HostUse) -> str:
    """A host's hardware, the precision of its clock, and its losses."""
    parts = [counted(host.runs, "run")]
    if host.processors:
        label = "processor" if len(host.processors) == 1 else "processors"
        parts[0] += f" on {label} {', '.join(str(number) for number in host.processors)}"
    if host.processor:
        parts.append(host.processor)
    if host.handshakes_per_s is not None:
        parts.append(f"{figure(host.handshakes_per_s)} handshakes/s in memory before the load")
    if host.clock_error_s is not None:
        parts.append(f"clock known to {time_words(host.clock_error_s)}{_clock(host)}")
    if host.start_skew_s:
        parts.append(f"began {time_words(host.start_skew_s)} after the first at most")
    if host.objections:
        found = (f"{code} in {counted(number, 'run')}" for code, number in host.objections.items())
        parts.append(", ".join(found))
    if host.lost:
        parts.append(f"lost in {counted(host.lost, 'run')}: {host.reason}")
    return "; ".join(parts)


def _clock(host: HostUse) -> str:
    """The clock's behaviour during the runs."""
    words = ""
    if host.drift_ppm:
        words += f", drift of {host.drift_ppm:.2f} ppm"
    if host.clock_moved_s:
        words += f", moved by {time_words(host.clock_moved_s)}"
    return words


def time_words(seconds: float) -> str:
    """A short time in a suitable unit: `0.12 ms`, `31 µs`."""
    if seconds >= 1e-4:
        return f"{figure(seconds * 1e3)} ms"
    return f"{figure(seconds * 1e6)} µs"
