"""The load generators of a run in words."""

from tlslab.domain.finding import HostUse
from tlslab.domain.wording import counted, figure


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
