"""The memory of idle connections in sentences."""

from collections.abc import Mapping

from tlslab.domain.scale import BackendScale, Slope
from tlslab.domain.wording import counted, figure
from tlslab.words.numbers import NO_INTERVAL, ends_alone, interval

ONE_LEVEL = "one level gives no slope"

_PLACES: Mapping[str, str] = {
    "client": "client",
    "server": "server",
    "kernel": "kernel, both ends",
}
_UNIT = "KiB per connection"


def slope_words(slope: Slope) -> str:
    """The memory of one connection in a place, as far as its interval says."""
    place, size = _PLACES[slope.what], f"{_kib(slope.value)} {_UNIT}"
    if slope.low is None or slope.high is None:
        return f"{place}: {size} (two levels: {NO_INTERVAL})"
    if slope.low <= 0 <= slope.high:
        return f"{place}: cannot tell, {ends_alone(slope.low, slope.high, _UNIT, _kib)}"
    return f"{place}: {size}{interval(slope.low, slope.high, _kib)}"


def lost_words(backend: BackendScale) -> str:
    """The connections that were not held, by their faults."""
    failed = ", ".join(f"{count:,} {name}" for name, count in backend.failed.items()) or "none"
    attempts = counted(backend.attempts, "connection")
    held = f"{backend.alive:,} were held, {backend.lost:,} lost"
    return f"of {attempts} {held}, failed: {failed}: no memory per connection"


def _kib(size: float) -> str:
    return figure(size / 1024)
