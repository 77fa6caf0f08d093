"""The tables and charts of a calibration."""

from collections.abc import Sequence

from tlslab.analysis.costs.model import Check, CostModel
from tlslab.domain.figure import DataTable, Figure, Series
from tlslab.domain.wording import cell_label


def tables(model: CostModel | None, checks: Sequence[Check]) -> tuple[DataTable, ...]:
    """The cost of each part, and the mixes that were held out."""
    if model is None:
        return ()
    merged = (
        "" if not model.merged else f" Not told apart by these cells: {', '.join(model.merged)}."
    )
    parts = DataTable(
        id="parts",
        title="What the parts of a connection cost the server",
        caption=(
            "Processor time in µs; intervals of 95 % over blocks. Without a level of their own "
            f"the parts are those of {cell_label(_tls(model))}; another level adds to them (or "
            f"takes away) what its row says.{merged}"
        ),
        columns=("part", "server µs for one"),
        rows=tuple((name, model.part(name)) for name in model.parts),
    )
    if not checks:
        return (parts,)
    held_out = DataTable(
        id="held-out",
        title="Mixes that were held out of the fit",
        caption=(
            "What the parts add up to, beside what a connection of the mix cost when it was "
            "measured in the same blocks."
        ),
        columns=("mix", "model µs", "measured µs", "model / measured"),
        rows=tuple(
            (cell_label(_named(check, model)), check.predicted, check.measured, check.ratio)
            for check in checks
        ),
    )
    return (parts, held_out)


def figures(model: CostModel | None, checks: Sequence[Check]) -> tuple[Figure, ...]:
    """Model and measurement side by side, for each mix that was held out."""
    if model is None or not checks:
        return ()
    names = [cell_label(_named(check, model)) for check in checks]

    return (
        Figure(
            id="held-out",
            title="The model on mixes that it has not seen",
            caption="Processor time of the server for a connection; intervals of 95 % over blocks.",
            kind="bars",
            x_title="mix",
            y_title="server µs/connection",
            series=(
                Series.of("model", zip(names, (check.predicted for check in checks), strict=True)),
                Series.of(
                    "measured", zip(names, (check.measured for check in checks), strict=True)
                ),
            ),
        ),
    )


def _tls(model: CostModel) -> dict[str, str]:
    """The centre's levels that determine the handshake."""
    return {
        name: level
        for name, level in model.centre.items()
        if name in ("tls", "key", "group", "suite")
    }


def _named(check: Check, model: CostModel) -> dict[str, str]:
    """The levels in which a mix differs from the centre."""
    return {name: level for name, level in check.factors.items() if level != model.centre.get(name)}
