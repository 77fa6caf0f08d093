"""Tables of a comparison: the ratios, and other differences between the two runs."""

from collections.abc import Sequence
from dataclasses import replace

from tlslab.analysis.compare import is_equal_amount
from tlslab.analysis.overlay.pairs import Side
from tlslab.analysis.overlay.ratios import ONE_AFTER_THE_OTHER, Ratio
from tlslab.analysis.run_facts import run_facts
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RATIO, estimate_name, shown
from tlslab.domain.figure import DataTable, TableCell
from tlslab.domain.finding import Comparison
from tlslab.domain.wording import difference


def ratio_table(first: Side, second: Side, ratios: Sequence[Ratio]) -> DataTable:
    """A row for each ratio, with both values and the verdict; none for amounts that are equal."""
    rows: list[tuple[TableCell, ...]] = []
    for pair, name, comparison in ratios:
        if is_equal_amount(comparison):
            continue
        ratio = Estimate(
            comparison.ratio,
            comparison.low,
            comparison.high,
            comparison.n,
            RATIO,
            comparison.method,
        )
        rows.append(
            (
                pair.label,
                _measure(name, pair.first.estimates[name]),
                _as_shown(pair.first.estimates[name]),
                _as_shown(pair.second.estimates[name]),
                ratio,
                verdict_words(comparison),
            )
        )
    return DataTable(
        id="ratios",
        title=f"{second.name} over {first.name}",
        caption="",
        columns=("cell", "measure", first.name, second.name, "ratio", "verdict"),
        rows=tuple(rows),
    )


def _measure(name: str, found: Estimate) -> str:
    """An estimate in words, with its unit of display."""
    unit = shown(found).unit
    return estimate_name(name) + (f", {unit}" if unit not in ("/s", "") else "")


def _as_shown(found: Estimate) -> Estimate:
    given = shown(found)
    return replace(found, value=given.value, low=given.low, high=given.high, unit=given.unit)


def verdict_words(comparison: Comparison) -> str:
    """The verdict; the largest difference left open, or the reason for a missing verdict."""
    left = comparison.may_differ
    if comparison.verdict == "equivalent" and left is not None:
        return f"differ by at most {difference(left)}"
    if comparison.verdict == "cannot_tell":
        why = [ONE_AFTER_THE_OTHER] if ONE_AFTER_THE_OTHER in comparison.method else []
        why += [] if left is None else [f"they may differ by up to {difference(left)}"]
        return ": ".join(["cannot tell", *(["; ".join(why)] if why else [])])
    if comparison.verdict == "not_comparable":
        return comparison.method
    return comparison.verdict.replace("_", " ")


def difference_table(first: Side, second: Side) -> DataTable:
    """Facts that differ between the two runs, as far as their folders record them."""
    sides = [run_facts(side.summary) for side in (first, second)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    rows = [(name, sides[0].get(name, "-"), sides[1].get(name, "-")) for name in names]
    return DataTable(
        id="differences",
        title="What else differs",
        caption=f"Facts that are recorded of the two {first.noun}s and that are not the same.",
        columns=("fact", first.name, second.name),
        rows=tuple(row for row in rows if row[1] != row[2]),
    )
