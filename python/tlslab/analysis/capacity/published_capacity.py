"""The published figures of the study that this method follows, beside ours, as ratios."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from tlslab.analysis.capacity.capacity_cell import CapacityCell
from tlslab.analysis.capacity.known import flag, over
from tlslab.analysis.capacity.naming import cell_names
from tlslab.analysis.capacity.points import by_fraction, judged
from tlslab.domain.errors import UsageError
from tlslab.domain.figure import DataTable, TableCell
from tlslab.domain.trial import Trial
from tlslab.domain.validation import JUDGEMENT_WORDS

SCHEMA = "tlslab.capacity-study/1"

Row = tuple[TableCell, ...]


def load_study(name: str, schema: str = SCHEMA) -> Mapping[str, Any]:
    """The study's file. Raises UsageError if tlslab ships no such study of this kind."""
    file = resources.files("tlslab") / "experiments" / "published" / f"{name}.toml"
    if not file.is_file():
        raise UsageError(f"no published study '{name}'")
    data = tomllib.loads(file.read_text("utf-8"))
    if data["schema"] != schema:
        raise UsageError(f"published/{name}.toml is no study of load: its schema is not {schema}")
    return data


def published_table(cells: Sequence[CapacityCell], study: Mapping[str, Any]) -> DataTable:
    """The study's results and ours, both as ratios."""
    rows = [
        *_flatness(cells, study),
        *_scaling(cells),
        *_climb(cells, study),
        *_validation(cells, study),
    ]
    return DataTable(
        id="published",
        title=f"Beside the study of {study['date']}",
        caption=(
            f"{study['title']} ({study['date']}): {study['setting']}; {study['method']}. Ratios, "
            "because absolute rates mean nothing across machines."
        ),
        columns=("figure", "published", "here", "n, method"),
        rows=tuple(rows),
    )


def _named(cells: Sequence[CapacityCell]) -> Iterator[tuple[str, CapacityCell]]:
    yield from zip(cell_names([cell.factors for cell in cells]), cells, strict=True)


def _flatness(cells: Sequence[CapacityCell], study: Mapping[str, Any]) -> Iterator[Row]:
    """The flatness of the search's peak: the levels next to the best one, over the best."""
    rates = [row["connections_per_s"] for row in study["pre_test"]]
    shares = [rate / max(rates) for rate in rates if rate < max(rates)]
    text = " and ".join(f"{share:.3f}" for share in shares)
    for name, cell in _named(cells):
        levels = cell.levels
        best = max(levels, key=lambda level: level.rate, default=None)
        if best is None or best.rate <= 0:
            continue
        at = levels.index(best)
        beside = [levels[i].rate / best.rate for i in (at - 1, at + 1) if 0 <= i < len(levels)]
        here = " and ".join(f"{share:.3f}" for share in beside) or None
        yield (f"search, levels beside the best, over it: {name}", text, here, "one run each")


def scaling_pairs(cells: Sequence[CapacityCell]) -> Iterator[tuple[CapacityCell, CapacityCell]]:
    """Cells that differ only in the number of processors, the one with fewer first."""
    for cell in cells:
        others = [
            other
            for other in cells
            if _without(other, "processors") == _without(cell, "processors")
            and other.factors.get("processors", "") != cell.factors.get("processors", "")
        ]
        for other in others:
            if int(other.factors["processors"]) < int(cell.factors["processors"]):
                yield other, cell


def server_pairs(cells: Sequence[CapacityCell]) -> Iterator[tuple[CapacityCell, CapacityCell]]:
    """Cells that differ only in the server, each paired with the first of them."""
    seen: dict[frozenset[tuple[str, str]], CapacityCell] = {}
    for cell in cells:
        if "server" not in cell.factors:
            continue
        key = frozenset(_without(cell, "server").items())
        first = seen.setdefault(key, cell)
        if first is not cell:
            yield first, cell


def variant_pairs(
    cells: Sequence[CapacityCell], baseline: Mapping[str, str]
) -> Iterator[tuple[CapacityCell, CapacityCell]]:
    """Cells that differ in one factor only, other than server and processors.

    Each is paired with the cell at the baseline's level, or else with the first of them.
    """
    names = dict.fromkeys(name for cell in cells for name in cell.factors)
    for factor in names:
        if factor in ("server", "processors"):
            continue
        groups: dict[frozenset[tuple[str, str]], list[CapacityCell]] = {}
        for cell in cells:
            if factor in cell.factors:
                groups.setdefault(frozenset(_without(cell, factor).items()), []).append(cell)
        for group in groups.values():
            group.sort(key=lambda cell: cell.factors[factor] != baseline.get(factor))
            yield from ((group[0], other) for other in group[1:])


def _without(cell: CapacityCell, factor: str) -> dict[str, str]:
    return {name: level for name, level in cell.factors.items() if name != factor}


def _scaling(cells: Sequence[CapacityCell]) -> Iterator[Row]:
    for fewer, more in scaling_pairs(cells):
        n, m = int(fewer.factors["processors"]), int(more.factors["processors"])
        ratio = over(more, fewer)
        if ratio is None:
            continue
        name = cell_names([more.factors, fewer.factors])[0]
        yield (
            f"connections/s with {m} processors over {n}: {more.factors.get('server', name)}",
            f"{m / n:.2f} (linear)",
            f"{flag(more, fewer)}{_ratio(ratio.ratio, ratio.low, ratio.high)}",
            f"n = {ratio.n}; {ratio.method}",
        )


def _ratio(value: float, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" (95 %: {low:.2f} to {high:.2f})"
    return f"{value:.2f}{interval}"


def _climb(cells: Sequence[CapacityCell], study: Mapping[str, Any]) -> Iterator[Row]:
    """The increase of the mean response time at k times the lowest rate."""
    rows = study["validation"]
    base = rows[0]
    for name, cell in _named(cells):
        groups = by_fraction([p for p in judged(cell.points) if p.kept and p.response.n])
        if not groups:
            continue
        least = min(groups)
        first = _mean(groups[least])
        for row in rows[1:]:
            times = row["connections_per_s"] / base["connections_per_s"]
            group = next((g for f, g in groups.items() if abs(f / least - times) < 0.01), None)
            if group is None:
                continue
            yield (
                f"mean response time at {times:g} times the lowest rate, over that at it: {name}",
                f"{row['client_ms'] / base['client_ms']:.2f}",
                f"{_mean(group) / first:.2f}",
                f"n = {len(group)} runs",
            )


def _mean(points: Sequence[Any]) -> float:
    return float(sum(point.response.mean() for point in points) / len(points))


def _validation(cells: Sequence[CapacityCell], study: Mapping[str, Any]) -> Iterator[Row]:
    worst = max(abs(row["client_ms"] / row["capture_ms"] - 1) for row in study["validation"])
    for _, cell in _named(cells):
        for trial in _validated(cell):
            assert trial.validation is not None
            for phase in trial.validation.phases:
                if phase.phase != "close":
                    continue
                for comparison in phase.comparisons:
                    if comparison.quantile == 0.5:
                        judged = comparison.judged(trial.validation.resolution)
                        yield (
                            f"own times over a capture's, {trial.validation.achieved:,.0f}/s",
                            f"within {worst:.1%}".replace("%", " %"),
                            f"{comparison.ratio:.4f}",
                            f"median of {phase.n:,} connections; {JUDGEMENT_WORDS[judged]}",
                        )


def _validated(cell: CapacityCell) -> list[Trial]:
    return [
        trial for trial in cell.trials if trial.validation is not None and trial.validation.valid
    ]
