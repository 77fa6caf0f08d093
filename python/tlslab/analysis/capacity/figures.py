"""The figures of a capacity experiment."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.points import (
    LoadPoint,
    by_fraction,
    judged,
    overload,
    time_estimates,
)
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.cell_names import cell_name, percent_of_maximum
from tlslab.domain.estimates import CONNECTIONS, RESPONSE, statistic
from tlslab.domain.figure import Figure, Mark, Series
from tlslab.domain.loads import LoadVerdict
from tlslab.domain.run_record import total_us
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import joined

RATE = "new connections/s"
_OFFERED = "offered load, new connections/s"
KEPT_UP = "as much as was offered"

# The runs that say nothing of the server, and how their marks are named.
_HOLLOW: Sequence[LoadVerdict] = ("generator late", "invalid")
HOLLOW = "generator late, or run invalid"

# The reasons that a load is not drawn: its runs say nothing about the server.
_SILENT: Mapping[LoadVerdict, str] = {
    "generator late": "the generator was late",
    "invalid": "a run was invalid",
}

Cells = Sequence[CapacityCell]


def figures(cells: Cells, plan: CapacityPlan) -> tuple[Figure, ...]:
    """All figures with something to draw."""
    measured = [cell for cell in cells if any(level.rate > 0 for level in cell.levels)]
    loaded = [cell for cell in measured if cell.loads]
    drawn: list[Figure | None] = [_search(measured), _maximum(measured)]
    for cell in loaded:
        drawn += [_achieved(cell, loaded, plan), _responses(cell, loaded, plan)]
    drawn += [_overlay(*item) for item in _by(loaded, "processors").items()]
    drawn += [_cpu_by_load(loaded), *_cpu_over_time(measured), *_over_time(loaded)]
    drawn += [_remedies(cell) for cell in measured]
    return tuple(figure for figure in drawn if figure is not None and figure.series)


def _by(cells: Cells, factor: str) -> dict[str, list[CapacityCell]]:
    groups: dict[str, list[CapacityCell]] = {}
    for cell in cells:
        groups.setdefault(cell.factors.get(factor, ""), []).append(cell)
    return groups


def identifier(*parts: str) -> str:
    """Parts of a figure's id: letters, digits and '-' only."""
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(part for part in parts if part)).strip("-")


def _search(cells: Cells) -> Figure:
    return Figure(
        id="search",
        title="Search: connections/s against connections at once",
        caption=(
            "A closed loop at each concurrency. The line marks where the maximum was then taken: "
            "the fewest connections that reach the best rate, as far as the noise allows."
        ),
        kind="line",
        x_title="connections at once",
        y_title=RATE,
        series=tuple(
            Series(
                cell.name,
                tuple(float(level.connections) for level in cell.levels),
                tuple(level.rate for level in cell.levels),
            )
            for cell in cells
        ),
        x_log=True,
        marks=tuple(Mark(float(c.connections), c.name) for c in cells if c.connections is not None),
    )


def _maximum(cells: Cells) -> Figure | None:
    able = [cell for cell in cells if cell.has_maximum]
    if not able:
        return None
    by_server, processors = _by(able, "server"), _by(able, "processors")
    grouped = len(by_server) > 1 and len(processors) > 1
    if grouped:
        series = [
            _maxima(server, group, [_processors(c.factors.get("processors", "1")) for c in group])
            for server, group in by_server.items()
        ]
    else:
        able.sort(key=lambda cell: -(cell.maximum.value if cell.maximum else 0.0))
        series = [_maxima("maximum", able, [cell.name for cell in able])]
    names = [f"{cell.name} ({label})" for cell in able if (label := cell.open_label)]
    more = f" May take more: {'; '.join(names)}." if names else ""
    return Figure(
        id="maximum",
        title="New connections/s at most",
        caption="Mean over trials, each on a server of its own, with 95 % intervals; none below "
        f"{LEAST_BLOCKS} trials. A dot for each trial.{more}",
        kind="bars" if grouped else "ranking",
        x_title="",
        y_title=RATE,
        series=tuple(series),
    )


def _maxima(name: str, cells: Cells, labels: Sequence[str]) -> Series:
    """The maxima of cells by label, with their trials; with intervals from five trials on."""
    samples = [tuple(v for _, v in sorted(c.values.get(CONNECTIONS, {}).items())) for c in cells]
    maxima = [
        m if m is None or len(each) >= LEAST_BLOCKS else replace(m, low=None, high=None)
        for m, each in zip((cell.maximum for cell in cells), samples, strict=True)
    ]
    series = Series.of(name, zip(labels, maxima, strict=True))
    return replace(series, samples=tuple(samples), bounds=tuple(cell.is_bound for cell in cells))


def _processors(level: str) -> str:
    return cell_name({"processors": level})


def _of_server(cell: CapacityCell) -> list[list[LoadPoint]]:
    """The runs at loads that say something about the server, by fraction of the maximum."""
    return list(by_fraction(judged(cell.loads)).values())


def _offered(groups: Sequence[Sequence[LoadPoint]]) -> list[float]:
    return [sum(each.offered for each in points) / len(points) for points in groups]


def _over_load(
    name: str, title: str, caption: str, y_title: str, cells: Cells, series: Sequence[Series],
    **more: Any,
) -> Figure:  # fmt: skip
    """A figure over the offered load; a caption names the loads that are not drawn."""
    for verdict, why in _SILENT.items():
        silent = []
        for cell in cells:
            if loads := sorted({p.fraction for p in cell.loads if p.verdict == verdict}):
                silent.append(f"{cell.name} at {joined([percent_of_maximum(f) for f in loads])}")
        if silent:
            caption += f" Not drawn, since {why}: {'; '.join(silent)}."
    return Figure(name, title, caption, "line", _OFFERED, y_title, tuple(series), **more)


def _by_run(
    kind: str, title: str, caption: str, y_title: str, cell: CapacityCell, cells: Cells,
    series: Sequence[Series], plan: CapacityPlan, **more: Any,
) -> Figure:  # fmt: skip
    """A figure of a cell over the offered load, a point for each run, the overload shaded."""
    several = len(cells) > 1
    marks = [*_overload(cell, plan)]
    if cell.capacity is not None and cell.capacity.is_confirmed:
        marks.append(Mark(cell.capacity.load.value, f"meets {plan.objective}"))
    caption = f"{caption} Each run is a point; hollow: {HOLLOW}, which says nothing of the server. "
    caption += "Shaded: from the first load that was not carried"
    caption += "." if plan.objective is None else f", or missed {plan.objective}."
    return Figure(
        by_run_id(kind, cell, cells), f"{title}: {cell.name}" if several else title, caption,
        "points", _OFFERED, y_title, tuple(series), marks=tuple(marks), **more,
    )  # fmt: skip


def by_run_id(kind: str, cell: CapacityCell, cells: Cells) -> str:
    """The id of a cell's figure, `achieved` or `response`; with its name if there are others."""
    return identifier(kind, cell.name) if len(cells) > 1 else kind


def _overload(cell: CapacityCell, plan: CapacityPlan) -> Iterator[Mark]:
    found = overload(cell.loads, plan.objective)
    if found is not None:
        load, outcome = found
        why = "not carried" if outcome == "overloaded" else f"misses {plan.objective}"
        yield Mark(load, f"overload ({why})", onward=True)


def _runs(
    cell: CapacityCell, name: str, value: Callable[[LoadPoint], float | None]
) -> Iterator[Series]:
    """A value of each run against its load: those of the server, then those that are not."""
    points = sorted(cell.loads, key=lambda point: point.offered)
    for hollow in ("", HOLLOW):
        known = [
            (point.offered, found)
            for point in points
            if (point.verdict in _HOLLOW) == bool(hollow) and (found := value(point)) is not None
        ]
        if known:
            x, y = zip(*known, strict=True)
            yield Series(name, x, y, hollow=hollow)


def _times(cell: CapacityCell, label: str, names: Sequence[str], dashed: str) -> Iterator[Series]:
    """Response times against the offered load, a line for each name of a time."""
    groups = _of_server(cell)
    times = [time_estimates(group, RESPONSE)[0] for group in groups]
    for name in names if groups else ():
        values = [each.get(statistic(RESPONSE, name)) for each in times]
        points = zip(_offered(groups), values, strict=True)
        yield Series.of(f"{label}: {name}", points, dashed=name == dashed)


def _response(name: str) -> Callable[[LoadPoint], float | None]:
    """A quantile of a run's response times; None if the run has too few values for it."""

    def of_run(point: LoadPoint) -> float | None:
        found = time_estimates([point], RESPONSE)[0].get(statistic(RESPONSE, name))
        return None if found is None else found.value

    return of_run


def _responses(cell: CapacityCell, cells: Cells, plan: CapacityPlan) -> Figure:
    return _by_run(
        "response",
        "Response time against offered load",
        "From the intended start of a connection to the last byte of its response, in an open "
        "loop: a server that falls behind is not asked less.",
        "response time, ms",
        cell,
        cells,
        [each for name in ("p50", "p99") for each in _runs(cell, name, _response(name))],
        plan,
        y_log=True,
    )


def _achieved(cell: CapacityCell, cells: Cells, plan: CapacityPlan) -> Figure:
    series = list(_runs(cell, "completed", lambda point: point.completed))
    if series:
        loads = [float(x) for each in series for x in each.x]
        ends = min(loads), max(loads)
        series.append(Series(KEPT_UP, ends, ends, dashed=True))
    return _by_run(
        "achieved",
        "Completed against offered connections/s",
        "A server that does not keep up completes less than is offered: it falls below the "
        f"diagonal ({KEPT_UP}).",
        "completed connections/s",
        cell,
        cells,
        series,
        plan,
    )


def _overlay(processors: str, cells: Cells) -> Figure | None:
    """Cells side by side, as platforms, at equal numbers of processors."""
    drawn = [cell for cell in cells if _of_server(cell)]
    if len(drawn) < 2:
        return None
    servers = _by(drawn, "server")
    series: list[Series] = []
    for cell in drawn:
        server = cell.factors.get("server", "")
        label = server if server and len(servers[server]) == 1 else cell.name
        series += _times(cell, label, ("p50", "p99"), "p99")
    where = f", {_processors(processors)}" if processors else ""
    return _over_load(
        identifier("overlay", processors),
        f"{'Servers' if len(servers) > 1 else 'Cells'} overlaid{where}",
        "Response time against offered load; each to the maximum of its own.",
        "response time, ms",
        cells,
        series,
        y_log=True,
    )


def _cpu_by_load(cells: Cells) -> Figure:
    """The processors used by server and generator, by offered load."""
    series: list[Series] = []
    for cell in cells:
        groups = _of_server(cell)
        for side, used in _SIDES.items():
            values = [[u for p in group if (u := used(p)) is not None] for group in groups]
            if any(values):
                means = tuple(sum(each) / len(each) if each else None for each in values)
                xs, name = tuple(_offered(groups)), f"{cell.name}: {side}"
                series.append(Series(name, xs, means, dashed=side == "generator"))
    return _over_load(
        "cpu-load",
        "Processor use against offered load",
        "Processors in use by the server and by the generator, mean over the runs.",
        "processors in use",
        cells,
        series,
    )


def _server(part: str) -> Callable[[LoadPoint], float | None]:
    def used(point: LoadPoint) -> float | None:
        server = point.run.server
        return None if server is None else float(getattr(server, part)) / server.seconds / 1e6

    return used


def _generator(point: LoadPoint) -> float | None:
    record = point.run.record
    return total_us(record.cpu) / record.seconds / 1e6 if record.seconds else None


_SIDES: Mapping[str, Callable[[LoadPoint], float | None]] = {
    "server, user": _server("user_us"),
    "server, system": _server("system_us"),
    "generator": _generator,
}


def _cpu_over_time(cells: Cells) -> Iterator[Figure]:
    """Processor use of server and generator at the maximum, over the time of the measurement."""
    for cell in cells:
        yield Figure(
            id=identifier("cpu-time", cell.name),
            title=f"Processor use over time at the maximum: {cell.name}",
            caption="Mean over the trials of the maximum, in slices of a fifth of a second.",
            kind="line",
            x_title="seconds of measurement",
            y_title="processors in use",
            series=tuple(
                Series(f"{side}, {part}", over.at_s, getattr(over, part), dashed=side == "client")
                for side, over in cell.summary.cpu_over_time.items()
                for part in ("user", "system")
            ),
        )


def _over_time(cells: Cells) -> Iterator[Figure]:
    """Connections in flight and their times over the time of each load: overload shows here."""
    for cell in cells:
        series: list[Series] = []
        for fraction, points in by_fraction(cell.points).items():
            pace, label = points[0].run.pace, percent_of_maximum(fraction)
            if len(pace) > 2:
                at = tuple(sample.at_s for sample in pace)
                flying = tuple(float(sample.in_flight) for sample in pace)
                times = tuple(sample.service_p50_ms for sample in pace)
                series.append(Series(f"{label}: at once", at, flying))
                series.append(Series(f"{label}: p50, ms", at, times, axis=2, dashed=True))
        yield Figure(
            id=identifier("over-time", cell.name),
            title=f"Connections at once over time: {cell.name}",
            caption=(
                "The first run at each share of the maximum, warm-up and drain included; "
                "dashed: the median service time of each second."
            ),
            kind="line",
            x_title="seconds",
            y_title="connections at once",
            y2_title="service time p50, ms",
            series=tuple(series),
        )


def _remedies(cell: CapacityCell) -> Figure | None:
    settings = cell.remedies
    if not settings:
        return None
    return Figure(
        id=identifier("remedies", cell.name),
        title=f"What the remedies bring: {cell.name}",
        caption="Requests/s in a closed loop at the concurrency of the maximum.",
        kind="bars",
        x_title="",
        y_title="requests/s",
        series=(Series.of("requests/s", [(each.name, each.requests_per_s) for each in settings]),),
    )
