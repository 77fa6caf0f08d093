"""The figures of each setting: its cells ranked, the cost of a connection, processor use over time.

A setting's figures are `setting-N-...`, with N as its place among `settings`, from 1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tlslab.analysis.compare import Measured
from tlslab.analysis.ranking import settings
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    MICRO,
    SERVER_COST,
    axis_title,
    estimate_name,
    parts_of,
    shown,
)
from tlslab.domain.figure import Figure, Series
from tlslab.domain.finding import CpuSeries, Ranking
from tlslab.domain.setting import RANKED_FIGURES, figure_id
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import capital, cell_label, setting_of, short_label

# Estimates that are drawn only if no rate ranks the cells.
_ONLY_ALONE = (SERVER_COST, CLIENT_COST)

# An axis is logarithmic if the ratio between its ends exceeds this.
_LOG_RANGE = 20.0

_COSTS = {"server": SERVER_COST, "client": CLIENT_COST}

_PARTS = ("user", "system")

_BOUND = (
    " ≥: a lower bound, because the generator was the limit; nothing ranks above it unless it is "
    "measured to be faster."
)


def figures(
    cells: Sequence[Measured], baseline: Mapping[str, str], ranked: Sequence[Ranking]
) -> tuple[Figure, ...]:
    """All figures, setting by setting."""
    found: list[Figure] = []
    for number, setting in enumerate(settings(cells, baseline), start=1):
        mates = [c for c in cells if setting_of(c.summary.factors, baseline) == setting]
        drawn = Drawn(number, setting, baseline, mates)
        found += drawn.rankings([each for each in ranked if each.setting == setting])
        found += drawn.costs()
        found += drawn.use()
    return tuple(found)


class Drawn:
    """Draws the cells of one setting, in the order of its first ranking."""

    def __init__(
        self,
        number: int,
        setting: Mapping[str, str],
        baseline: Mapping[str, str],
        cells: Sequence[Measured],
    ) -> None:
        self._number = number
        self._where = cell_label(setting)
        self._varied = tuple(baseline)
        self._cells = list(cells)

    def rankings(self, ranked: Sequence[Ranking]) -> Iterator[Figure]:
        """One figure for each rate that orders the cells or has bounds; else one by cost."""
        by_estimate = {each.estimate: each for each in ranked}
        by_key = {cell.summary.key: cell for cell in self._cells}
        drawn = [name for name in RANKED_FIGURES if name in by_estimate]
        rated = [name for name in drawn if name not in _ONLY_ALONE]
        for name in rated or drawn[:1]:
            ordered = [by_key[key] for key in by_estimate[name].cells]
            yield self._ranking(name, ordered)
        if CONNECTIONS not in by_estimate and (bounded := self._bounded()):
            yield self._ranking(CONNECTIONS, bounded)
        if drawn:
            self._order(by_estimate[drawn[0]].cells)

    def _bounded(self) -> list[Measured]:
        """Cells that are known only by lower bounds, the greatest first."""
        found = [cell for cell in self._cells if cell.has_place(CONNECTIONS)]
        return sorted(found, key=lambda cell: -cell.summary.estimates[CONNECTIONS].value)

    def _order(self, keys: Sequence[str]) -> None:
        place = {key: number for number, key in enumerate(keys)}
        self._cells.sort(key=lambda cell: place.get(cell.summary.key, len(place)))

    def _name(self, cell: Measured) -> str:
        levels = cell.summary.factors
        return short_label({name: levels[name] for name in self._varied})

    def _ranking(self, estimate: str, ordered: Sequence[Measured]) -> Figure:
        values = [_drawn(cell.summary.estimates[estimate]) for cell in ordered]
        known = [value.value for value in values if value.value > 0]
        bounds = tuple(cell.is_bound(estimate) for cell in ordered)
        name = estimate_name(estimate)
        series = Series(
            name=name,
            x=tuple(map(self._name, ordered)),
            y=tuple(value.value for value in values),
            low=tuple(value.low for value in values),
            high=tuple(value.high for value in values),
            samples=tuple(_samples(cell, estimate) for cell in ordered),
            bounds=bounds,
        )
        few = any(value.low is None for value in values)
        return Figure(
            id=figure_id(self._number, RANKED_FIGURES[estimate]),
            of_setting=True,
            title=f"{capital(name)}: {self._where}",
            caption=(
                "A dot for each trial, and their geometric mean"
                + ("." if few else " with its interval of 95 %.")
                + (_BOUND if any(bounds) else "")
            ),
            kind="ranking",
            x_title=", ".join(self._varied),
            y_title=axis_title(estimate),
            series=(series,),
            y_log=bool(known) and max(known) > _LOG_RANGE * min(known),
        )

    def costs(self) -> Iterator[Figure]:
        """The cost of a new connection on each side, split into program and kernel."""
        for side, name in _COSTS.items():
            able = [c for c in self._cells if parts_of(name)[-1] in c.summary.estimates]
            if not able:
                continue
            yield Figure(
                id=figure_id(self._number, f"{side}-cost"),
                of_setting=True,
                title=f"{capital(estimate_name(name))}: {self._where}",
                caption=(
                    "Of the client that verifies everything: user, in the program; system, in the "
                    "kernel."
                    if side == "client"
                    else "User: in the program; system: in the kernel."
                ),
                kind="stacked_bars",
                x_title=", ".join(self._varied),
                y_title=f"{MICRO} of processor time for a new connection",
                series=tuple(map(partial(self._part, able), parts_of(name), _PARTS)),
            )

    def _part(self, cells: Sequence[Measured], estimate: str, part: str) -> Series:
        values = [_drawn(cell.summary.estimates[estimate]) for cell in cells]
        return Series(
            name=part,
            x=tuple(map(self._name, cells)),
            y=tuple(value.value for value in values),
            low=tuple(value.low for value in values),
            high=tuple(value.high for value in values),
        )

    def use(self) -> Iterator[Figure]:
        """Processor use over the time of the measurement: server and client of each cell."""
        for index, cell in enumerate(self._cells, start=1):
            for side, over in cell.summary.cpu_over_time.items():
                yield Figure(
                    id=figure_id(self._number, f"use-{index}-{side}"),
                    of_setting=True,
                    title=f"{self._name(cell)}: {side}, {self._where}",
                    caption="Mean over the trials, in slices of a fifth of a second.",
                    kind="areas",
                    x_title="seconds of measurement",
                    y_title="processors in use",
                    series=tuple(_area(over, part) for part in _PARTS),
                )


def use_over_time(
    id_: str, title: str, side: str, named: Iterable[tuple[str, Measured]], kernel: bool = False
) -> Figure | None:
    """The processor use of one side over time, a line for each cell; None without any.

    `kernel`: and a second line for the kernel's part of it.
    """
    series = []
    for name, cell in named:
        if (use := cell.summary.cpu_over_time.get(side)) is not None:
            whole = tuple(100 * sum(both) for both in zip(use.user, use.system, strict=True))
            series.append(Series(name, use.at_s, whole))
            if kernel:
                part = tuple(100 * each for each in use.system)
                series.append(Series(name, use.at_s, part, dashed=True, hollow="in the kernel"))
    if not series:
        return None
    return Figure(
        id=id_,
        title=title,
        caption="User space and kernel together, mean over the trials, while the lean client loads "
        "the server as far as it goes." + " Dashed: the kernel's part." * kernel,
        kind="line",
        x_title="s",
        y_title="% of one processor",
        series=tuple(series),
    )


def _area(over: CpuSeries, part: str) -> Series:
    return Series(part, over.at_s, getattr(over, part))


def _drawn(found: Estimate) -> Estimate:
    """The estimate in the form for a figure: without an interval if it has too few trials."""
    given = shown(found)
    few = found.n < LEAST_BLOCKS
    low, high = (None, None) if few else (given.low, given.high)
    return replace(found, value=given.value, low=low, high=high, unit=given.unit)


def _samples(cell: Measured, estimate: str) -> tuple[float, ...]:
    return tuple(value for _, value in sorted(cell.values[estimate].items()))
