"""The chart and the tables of a run of the kind `effects`."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tlslab.analysis.compare import Measured, paired_logs
from tlslab.analysis.effects.ratios import Effect, MeasureValues, at_levels
from tlslab.analysis.stats.estimate import estimate, mean_interval
from tlslab.domain.effects import NO_RESULT, SHARES
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RATIO, ROUND_TRIPS, quantity
from tlslab.domain.figure import DataTable, Figure, Series, TableCell
from tlslab.domain.names import NO_TLS
from tlslab.domain.wording import level_label, short_label

Varied = Mapping[str, Sequence[str]]


def figures(
    varied: Varied, measured: Sequence[MeasureValues], found: Sequence[Effect]
) -> tuple[Figure, ...]:
    """Each effect as a ratio, with its interval and its blocks; the values of each combination."""
    rows = [(_name(each), each) for each in found if len(each.changes) == 1]
    if not rows:
        return ()
    ratios = [each.ratio for _, each in rows]
    effects = Figure(
        id="effects",
        title="What each factor changes, the others equal",
        caption="How many times as much; 1 is no difference. Intervals of 95 % over blocks, each "
        "by itself.",
        kind="ranking",
        x_title="change",
        y_title="times as much",
        series=(
            Series(
                name="effect",
                x=tuple(name for name, _ in rows),
                y=tuple(each.value for each in ratios),
                low=tuple(each.low for each in ratios),
                high=tuple(each.high for each in ratios),
                samples=tuple(
                    tuple(float(value) for value in np.exp(each.logs)) for _, each in rows
                ),
            ),
        ),
    )
    return (effects, *_cells(varied, measured))


def _cells(varied: Varied, measured: Sequence[MeasureValues]) -> Iterator[Figure]:
    """The values of all combinations, a chart for each estimate."""
    for name in dict.fromkeys(each.estimate for each in measured):
        of_it = [each for each in measured if each.estimate == name]
        combinations = _ordered(varied, of_it)
        yield Figure(
            id=f"combinations-{of_it[0].measure}",
            title="Each combination",
            caption=f"{_unit(name)}; intervals of 95 % over blocks.",
            kind="bars",
            x_title="combination",
            y_title=_unit(name),
            series=tuple(
                Series.of(
                    each.measure,
                    ((_label(varied, key), _value(each, key)) for key in combinations),
                )
                for each in of_it
            ),
        )


def tables(
    varied: Varied,
    measured: Sequence[MeasureValues],
    found: Sequence[Effect],
    cells: Sequence[Measured],
) -> tuple[DataTable, ...]:
    """The effects by measure, where one factor changes another's; and each combination."""
    if not found:
        return ()
    heads = tuple(each.measure for each in measured)
    combinations = _ordered(varied, measured, cells)
    lacks = any(not each.values.get(key) for each in measured for key in combinations)
    # The sentences are filled in with those of the cells' reasons.
    why = (NO_RESULT,) if lacks else ()
    return (
        DataTable(
            id="effects-table",
            title="What each factor changes",
            caption="How many times as much of the server's processor time (of the rate, where "
            "that is not known), the other factors equal. Rows with a level behind `at` are "
            "there if the effect is another one at each level.",
            columns=("change", *heads),
            rows=tuple(_effect_rows(varied, measured, found)),
        ),
        DataTable(
            id="combinations-table",
            title="Each combination",
            caption=f"{'; '.join(dict.fromkeys(_unit(m.estimate) for m in measured))}. "
            f"Ratios to the first row{' with a value' if lacks else ''}. Round trips to the first "
            "byte of a new connection, TCP and request included.",
            columns=("combination", "negotiated", "round trips", *_columns(heads), *why),
            rows=tuple(
                (*row, *[None for _ in why])
                for row in _combination_rows(varied, measured, cells, combinations)
            ),
        ),
    )


def _unit(estimate: str) -> str:
    """What the values of all measures by an estimate are, whatever they are for."""
    row = quantity(estimate)
    return "server µs for one" if row.dimension == "cost" else "per second"


def _columns(heads: Sequence[str]) -> tuple[str, ...]:
    return tuple(column for head in heads for column in (head, "ratio"))


def _effect_rows(
    varied: Varied, measured: Sequence[MeasureValues], found: Sequence[Effect]
) -> Iterator[tuple[TableCell, ...]]:
    changes = dict.fromkeys(each.changes[0] for each in found if len(each.changes) == 1)
    by = {(each.measure, each.changes): each for each in found}
    for change in changes:
        of_it = [by.get((each.measure, (change,))) for each in measured]
        first = next(each for each in of_it if each is not None)
        ratios = [None if each is None else each.ratio for each in of_it]
        yield (_name(first, False), *ratios)
        others = dict.fromkeys(
            other.factor
            for each in found
            if len(each.changes) > 1 and change in each.changes and each.established
            for other in each.changes
            if other != change
        )
        for name in others:
            at = [{tuple(e.at.items()): e for e in at_levels(varied, each, change, name)}
                  for each in measured]  # fmt: skip
            for level in varied[name]:
                key = ((name, level),)
                ratios = [effects[key].ratio if key in effects else None for effects in at]
                yield (f"  at {level_label(name, level)}", *ratios)


def _combination_rows(
    varied: Varied,
    measured: Sequence[MeasureValues],
    cells: Sequence[Measured],
    combinations: Sequence[frozenset[tuple[str, str]]],
) -> Iterator[tuple[TableCell, ...]]:
    bases = [next((key for key in combinations if each.values.get(key)), frozenset())
             for each in measured]  # fmt: skip
    new = {
        frozenset((n, c.summary.factors[n]) for n in varied): c
        for c in cells
        if c.summary.factors.get("resumed") == SHARES["new"]
    }
    for key in combinations:
        cell = new.get(key)
        facts = None if cell is None else cell.summary.negotiated
        taken = [] if facts is None else [facts.suite, facts.group or ""]
        if dict(key).get("tls") == NO_TLS:
            taken = []
        trips = None if cell is None else cell.summary.estimates.get(ROUND_TRIPS)
        row: list[TableCell] = [
            _label(varied, key),
            ", ".join(filter(None, taken)) or None,
            None if trips is None else trips.value,
        ]
        for each, base in zip(measured, bases, strict=True):
            row += [_value(each, key), _ratio(each, key, base)]
        yield tuple(row)


def _ordered(
    varied: Varied, measured: Sequence[MeasureValues], cells: Sequence[Measured] = ()
) -> list[frozenset[tuple[str, str]]]:
    """The combinations with a value, and those of `cells`, in the order of their levels."""
    known = {key for each in measured for key in each.values}
    known |= {frozenset((n, cell.summary.factors[n]) for n in varied) for cell in cells}
    return sorted(known, key=lambda key: [varied[n].index(dict(key)[n]) for n in varied])


def _label(varied: Varied, key: frozenset[tuple[str, str]]) -> str:
    """The levels of a combination in the order of the factors."""
    return short_label({name: dict(key)[name] for name in varied})


def _value(measured: MeasureValues, key: frozenset[tuple[str, str]]) -> Estimate | None:
    values = measured.values.get(key)
    unit = quantity(measured.estimate).unit
    return estimate(list(values.values()), unit) if values else None


def _ratio(
    measured: MeasureValues, key: frozenset[tuple[str, str]], first: frozenset[tuple[str, str]]
) -> Estimate | None:
    """The ratio to the combination `first`, paired by block; None for that one itself."""
    logs = paired_logs(measured.values.get(key, {}), measured.values.get(first, {}))
    if key == first or not len(logs):
        return None
    centre, interval, method = mean_interval(logs, "log ratios")
    low, high = (None, None) if interval is None else np.exp(interval)
    ends = (None if low is None else float(low), None if high is None else float(high))
    return Estimate(float(np.exp(centre)), *ends, len(logs), RATIO, f"paired by block; {method}")


def _name(found: Effect, with_measure: bool = True) -> str:
    """`TLS 1.3 / TLS 1.2, new`."""
    (change,) = found.changes
    level, against = (level_label(change.factor, e) for e in (change.level, change.against))
    of = f", {found.measure}" if with_measure else ""
    return f"{level} / {against}{of}"
