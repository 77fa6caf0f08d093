"""The figures of a capacity experiment."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.known import has_maximum, is_bound, open_label
from tlslab.analysis.capacity.naming import cell_name, cell_names, percent_of_maximum
from tlslab.analysis.capacity.points import Point, by_fraction, judged, time_estimates
from tlslab.analysis.capacity.remedies import remedies
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.capacity import CapacityPlan
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import CONNECTIONS, RESPONSE, statistic
from tlslab.domain.figure import Figure, Mark, Series
from tlslab.domain.loads import LoadVerdict
from tlslab.domain.run_record import total_us
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import joined, level_label

OFFERED = "offered load, new connections/s"
RATE = "new connections/s"
KEPT_UP = "as much as was offered"
MS = "response time, ms"

_TIMES = (("mean", "mean"), ("p50", "p50"), ("p90", "p90"), ("p99", "p99"))

# The reasons that a load is not drawn: its runs say nothing about the server.
_SILENT: Mapping[LoadVerdict, str] = {
    "generator late": "the generator was late",
    "invalid": "a run was invalid",
}

Named = Sequence[tuple[str, CapacityCell]]


def figures(cells: Sequence[CapacityCell], plan: CapacityPlan) -> tuple[Figure, ...]:
    """All figures with something to draw."""
    measured = [cell for cell in cells if any(level.rate > 0 for level in cell.levels)]
    named = list(zip(cell_names([c.factors for c in measured]), measured, strict=True))
    loaded = [(name, cell) for name, cell in named if cell.points]
    drawn: list[Figure | None] = [_search(named), _maximum(named)]
    for server, group in _by(loaded, "server").items():
        drawn += [_responses(server, group, plan), _achieved(server, group)]
    drawn += _overlays(loaded)
    drawn += [_cpu_by_load(loaded), *_cpu_over_time(named), *_over_time(loaded)]
    drawn += [_remedies(name, cell) for name, cell in named]
    return tuple(figure for figure in drawn if figure is not None)


def _by(named: Named, factor: str) -> dict[str, list[tuple[str, CapacityCell]]]:
    levels = dict.fromkeys(cell.factors.get(factor, "") for _, cell in named)
    return {v: [(n, c) for n, c in named if c.factors.get(factor, "") == v] for v in levels}


def identifier(*parts: str) -> str:
    """Parts of a figure's id: letters, digits and '-' only."""
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(part for part in parts if part)).strip("-")


def _search(named: Named) -> Figure | None:
    series = tuple(
        Series(
            name,
            tuple(float(level.connections) for level in cell.levels),
            tuple(level.rate for level in cell.levels),
        )
        for name, cell in named
    )
    if not series:
        return None
    marks = tuple(
        Mark(float(cell.connections), name) for name, cell in named if cell.connections is not None
    )
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
        series=series,
        x_log=True,
        marks=marks,
    )


def _series(
    name: str, xs: Sequence[float | str], values: Sequence[Estimate | None], dashed: bool = False
) -> Series:
    """A series of estimates with their intervals."""
    return Series(
        name=name,
        x=tuple(xs),
        y=tuple(None if value is None else value.value for value in values),
        low=tuple(None if value is None else value.low for value in values),
        high=tuple(None if value is None else value.high for value in values),
        dashed=dashed,
    )


def _maximum(named: Named) -> Figure | None:
    able = [(name, cell) for name, cell in named if has_maximum(cell)]
    if not able:
        return None
    groups = _by(able, "server")
    several = len({cell.factors.get("processors") for _, cell in able}) > 1
    grouped = len(groups) > 1 and several
    if grouped:
        series = tuple(
            _maxima(server, [(_processors(c), c) for _, c in group])
            for server, group in groups.items()
        )
    else:
        able.sort(key=lambda each: -(each[1].maximum.value if each[1].maximum else 0.0))
        series = (_maxima("maximum", able),)
    return Figure(
        id="maximum",
        title="New connections/s at most",
        caption="Mean over trials, each on a server of its own, with 95 % intervals; none below "
        f"{LEAST_BLOCKS} trials. A dot for each trial.{_open(able)}",
        kind="bars" if grouped else "ranking",
        x_title="",
        y_title=RATE,
        series=series,
    )


def _open(able: Named) -> str:
    """The cells whose bars may be too short, with the reasons; empty for none."""
    names = [f"{name} ({label})" for name, cell in able if (label := open_label(cell))]
    return f" May take more: {'; '.join(names)}." if names else ""


def _maxima(name: str, cells: Named) -> Series:
    """The maxima of cells by name, with their trials; with intervals from five trials on."""
    series = _series(name, [label for label, _ in cells], [cell.maximum for _, cell in cells])
    samples = [sorted(cell.values.get(CONNECTIONS, {}).items()) for _, cell in cells]
    few = [len(each) < LEAST_BLOCKS for each in samples]
    return replace(
        series,
        low=tuple(None if f else end for f, end in zip(few, series.low, strict=True)),
        high=tuple(None if f else end for f, end in zip(few, series.high, strict=True)),
        samples=tuple(tuple(value for _, value in each) for each in samples),
        bounds=tuple(is_bound(cell) for _, cell in cells),
    )


def _processors(cell: CapacityCell) -> str:
    return cell_name({"processors": cell.factors.get("processors", "1")})


def _offered(points: Sequence[Point]) -> float:
    return sum(each.offered for each in points) / len(points)


def _of_server(cell: CapacityCell) -> dict[float, list[Point]]:
    """The runs at loads that say something about the server, by fraction of the maximum."""
    return by_fraction(judged(cell.loads))


def _left_out(named: Named) -> str:
    """The loads that are not drawn, with the reasons; empty for none."""
    text = ""
    for verdict, why in _SILENT.items():
        found = []
        for name, cell in named:
            loads = sorted({p.fraction for p in cell.loads if p.verdict == verdict})
            if loads:
                found.append(f"{name} at {joined([percent_of_maximum(f) for f in loads])}")
        if found:
            text += f" Not drawn, since {why}: {'; '.join(found)}."
    return text


def _responses(server: str, named: Named, plan: CapacityPlan) -> Figure | None:
    """Response times against the offered load, a bundle of lines for each cell."""
    series: list[Series] = []
    for name, cell in named:
        groups = _of_server(cell)
        if not groups:
            continue
        xs = [_offered(group) for group in groups.values()]
        times = [time_estimates(group, RESPONSE)[0] for group in groups.values()]
        for label, key in _TIMES:
            values = [each.get(statistic(RESPONSE, key)) for each in times]
            series.append(_series(f"{name}: {label}", xs, values, dashed=key == "mean"))
    marks = tuple(
        Mark(cell.capacity.load.value, f"{name}: {plan.objective}")
        for name, cell in named
        if cell.capacity is not None and cell.capacity.is_confirmed
    )
    if not series:
        return None
    return Figure(
        id=identifier("response", server),
        title=f"Response time against offered load{_of(server)}",
        caption=(
            "From the intended start of a connection to the last byte of its response, in an open "
            "loop: a server that falls behind is not asked less. Interval of 95 % over values and "
            f"trials.{_left_out(named)}"
        ),
        kind="line",
        x_title=OFFERED,
        y_title=MS,
        series=tuple(series),
        y_log=True,
        marks=marks,
    )


def _of(server: str) -> str:
    return f": {level_label('server', server)}" if server else ""


def _achieved(server: str, named: Named) -> Figure | None:
    series = []
    for name, cell in named:
        groups = _of_server(cell)
        if not groups:
            continue
        rates = [estimate([max(p.completed, 1e-9) for p in g], "1/s") for g in groups.values()]
        series.append(_series(name, [_offered(group) for group in groups.values()], rates))
    if not series:
        return None
    loads = [float(x) for each in series for x in each.x]
    ends = min(loads), max(loads)
    series.append(Series(KEPT_UP, ends, ends, dashed=True))
    return Figure(
        id=identifier("achieved", server),
        title=f"Completed against offered connections/s{_of(server)}",
        caption=(
            "A server that does not keep up completes less than is offered: it falls below the "
            f"diagonal ({KEPT_UP}).{_left_out(named)}"
        ),
        kind="line",
        x_title=OFFERED,
        y_title="completed connections/s",
        series=tuple(series),
    )


def _overlays(named: Named) -> Iterator[Figure]:
    """Servers side by side, as platforms, at equal numbers of processors."""
    for processors, members in _by(named, "processors").items():
        group = [(name, cell) for name, cell in members if _of_server(cell)]
        if len({cell.factors.get("server") for _, cell in group}) < 2:
            continue
        where = f", {cell_name({'processors': processors})}" if processors else ""
        series: list[Series] = []
        for name, cell in group:
            label = cell.factors.get("server", name)
            others = [c for _, c in group if c.factors.get("server") == label]
            label = label if len(others) == 1 else name
            groups = _of_server(cell)
            times = [time_estimates(points, RESPONSE)[0] for points in groups.values()]
            xs = [_offered(points) for points in groups.values()]
            for key, dashed in (("p50", False), ("p99", True)):
                values = [each.get(statistic(RESPONSE, key)) for each in times]
                series.append(_series(f"{label}: {key}", xs, values, dashed))
        yield Figure(
            id=identifier("overlay", processors),
            title=f"Servers overlaid{where}",
            caption="Response time against offered load; each to the maximum of its own."
            f"{_left_out(members)}",
            kind="line",
            x_title=OFFERED,
            y_title=MS,
            series=tuple(series),
            y_log=True,
        )


def _cpu_by_load(named: Named) -> Figure | None:
    """The processors used by server and generator, by offered load."""
    series: list[Series] = []
    for name, cell in named:
        groups = _of_server(cell)
        xs = [_offered(group) for group in groups.values()]
        for side, used in _SIDES.items():
            values = [
                [u for each in group if (u := used(each)) is not None] for group in groups.values()
            ]
            if any(values):
                means = [sum(each) / len(each) if each else None for each in values]
                dashed = side.startswith("generator")
                series.append(Series(f"{name}: {side}", tuple(xs), tuple(means), dashed=dashed))
    if not series:
        return None
    return Figure(
        id="cpu-load",
        title="Processor use against offered load",
        caption="Processors in use by the server and by the generator, mean over the runs."
        f"{_left_out(named)}",
        kind="line",
        x_title=OFFERED,
        y_title="processors in use",
        series=tuple(series),
    )


def _server_user(point: Point) -> float | None:
    server = point.run.server
    return None if server is None else server.user_us / server.seconds / 1e6


def _server_system(point: Point) -> float | None:
    server = point.run.server
    return None if server is None else server.system_us / server.seconds / 1e6


def _generator(point: Point) -> float | None:
    record = point.run.record
    return total_us(record.cpu) / record.seconds / 1e6 if record.seconds else None


_SIDES: Mapping[str, Callable[[Point], float | None]] = {
    "server, user": _server_user,
    "server, system": _server_system,
    "generator": _generator,
}


def _cpu_over_time(named: Named) -> Iterator[Figure]:
    """Processor use of server and generator at the maximum, over the time of the measurement."""
    for name, cell in named:
        series = [
            Series(f"{side}, {part}", over.at_s, getattr(over, part), dashed=side == "client")
            for side, over in cell.summary.cpu_over_time.items()
            for part in ("user", "system")
        ]
        if series:
            yield Figure(
                id=identifier("cpu-time", name),
                title=f"Processor use over time at the maximum: {name}",
                caption="Mean over the trials of the maximum, in slices of a fifth of a second.",
                kind="line",
                x_title="seconds of measurement",
                y_title="processors in use",
                series=tuple(series),
            )


def _over_time(named: Named) -> Iterator[Figure]:
    """Connections in flight and their times over the time of each load: overload shows here."""
    for name, cell in named:
        groups = by_fraction(cell.points)
        series: list[Series] = []
        for fraction, points in groups.items():
            pace = points[0].run.pace
            if len(pace) < 3:
                continue
            label = f"{fraction * 100:g} %"
            at = tuple(sample.at_s for sample in pace)
            flying = tuple(float(sample.in_flight) for sample in pace)
            series.append(Series(f"{label}: at once", at, flying))
            times = tuple(sample.service_p50_ms for sample in pace)
            series.append(Series(f"{label}: p50, ms", at, times, axis=2, dashed=True))
        if series:
            yield Figure(
                id=identifier("over-time", name),
                title=f"Connections at once over time: {name}",
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


def _remedies(name: str, cell: CapacityCell) -> Figure | None:
    found = remedies(cell)
    if not found:
        return None
    return Figure(
        id=identifier("remedies", name),
        title=f"What the remedies bring: {name}",
        caption="Requests/s in a closed loop at the concurrency of the maximum.",
        kind="bars",
        x_title="",
        y_title="requests/s",
        series=(_series("requests/s", [r.name for r in found], [r.requests_per_s for r in found]),),
    )
