"""Memory of idle connections, as tables."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tlslab.domain.plain import plain
from tlslab.domain.scale import BackendScale, Scale, Slope
from tlslab.domain.wording import counted, figure

_LABELS = {
    "client": "client",
    "server": "server",
    "kernel": "kernel, both ends",
}


def render_scale(scale: Scale) -> RenderableType:
    """For each back end the levels, then the memory of one connection."""
    parts: list[RenderableType] = []
    for backend in scale.backends:
        title = f"client {backend.backend}, server {scale.software}"
        parts += [Text(plain(title), style="bold"), _levels(backend), *_notes(backend), Text()]
    return Group(*parts)


def _levels(backend: BackendScale) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("connections", "client MiB", "server MiB", "kernel MiB"):
        table.add_column(name, justify="right")
    for reading in backend.readings:
        sizes = (reading.client, reading.server, reading.kernel)
        mib = ["-" if size is None else f"{size / 2**20:,.1f}" for size in sizes]
        table.add_row(f"{reading.connections:,}", *mib)
    return table


def _notes(backend: BackendScale) -> list[Text]:
    """The memory of one connection; if not all were held, only that fact."""
    if not backend.valid:
        failed = ", ".join(f"{count:,} {name}" for name, count in backend.failed.items()) or "none"
        attempts = counted(backend.attempts, "connection")
        held = f"{backend.alive:,} were held, {backend.lost:,} lost"
        words = f"of {attempts} {held}, failed: {failed}"
        return [Text(plain(f"{words}: no memory per connection"), style="red")]
    if not backend.slopes:
        return [Text("one level gives no slope", style="yellow")]
    return [Text(_sentence(slope)) for slope in backend.slopes]


def _sentence(slope: Slope) -> str:
    label, unit = _LABELS[slope.what], "KiB per connection"
    if slope.low is None or slope.high is None:
        return f"{label}: {figure(slope.value / 1024)} {unit} (two levels: no interval)"
    low, high = figure(slope.low / 1024), figure(slope.high / 1024)
    if slope.low <= 0 <= slope.high:
        return f"{label}: cannot tell, {low} to {high} {unit} (95 %)"
    return f"{label}: {figure(slope.value / 1024)} {unit} (95 %: {low} to {high})"
