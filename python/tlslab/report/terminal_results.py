"""Results of `scale`, `plan` and `selftest` on a terminal: sentences around a table."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tlslab.domain.estimates import estimate_name
from tlslab.domain.plain import plain
from tlslab.domain.run import Environment
from tlslab.domain.scale import BackendScale, Scale
from tlslab.domain.selftest import Ability, Planted, Selftest
from tlslab.domain.sizing import Sizing
from tlslab.report.numbers import Grid, Place, number, word
from tlslab.report.terminal_tables import fitting
from tlslab.words import sizing as sizing_words
from tlslab.words.scale import ONE_LEVEL, lost_words, slope_words
from tlslab.words.selftest import ability_lines, selftest_notes, share_words


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
        return [Text(plain(lost_words(backend)), style="red")]
    if not backend.slopes:
        return [Text(ONE_LEVEL, style="yellow")]
    return [Text(slope_words(slope)) for slope in backend.slopes]


def render_sizing(sizing: Sizing, environment: Environment) -> RenderableType:
    """The answer, the cost of a connection, and the assumptions."""
    return Group(
        Text(plain(sizing_words.answer(sizing)), style="bold"),
        *(Text(plain(line), style="yellow") for line in sizing_words.cautions(sizing)),
        Text(),
        Text(plain(sizing_words.cost(sizing, environment))),
        _shares(sizing),
        Text(),
        *(Text(plain(line)) for line in sizing_words.grounds(sizing, environment)),
    )


def _shares(sizing: Sizing) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("part")
    table.add_column("of it", justify="right")
    table.add_column("server µs", justify="right")
    for share in sizing.shares:
        cost = sizing_words.with_ends(sizing, share.cost_us, share.low_us, share.high_us)
        table.add_row(plain(share.part), f"{share.count:g}", cost)
    return table


def render_selftest(selftest: Selftest) -> RenderableType:
    """The result, with its grounds."""
    return Group(
        *(part for ability in selftest.by for part in (*_lines(ability), Text())),
        fitting("Planted slowdowns", _grid(selftest)),
        *(Text(plain(note, 1000), style="dim") for note in selftest_notes(selftest)),
    )


def _lines(ability: Ability) -> list[Text]:
    return [Text(plain(line, 1000)) for line in ability_lines(ability)]


def _grid(selftest: Selftest) -> Grid:
    return Grid(
        ("by", "slowdown", "found", "95 %", "ratio", "95 %"),
        tuple(_row(ability, each) for ability in selftest.by for each in ability.planted),
    )


def _row(ability: Ability, each: Planted) -> tuple[Place, ...]:
    found = each.found
    ends = "" if each.low is None or each.high is None else f"{each.low:.3f} to {each.high:.3f}"
    return (
        word(estimate_name(ability.estimate)),
        number(share_words(each.share)),
        number(f"{found.found} of {found.tries}"),
        number(f"{share_words(found.low)} to {share_words(found.high)}"),
        number("" if each.ratio is None else f"{each.ratio:.3f}"),
        number(ends),
    )
