"""Two servers, each with two certificate keys: the server's effect, and the key's.

The study compared one server that had an ECDSA certificate with another that had an RSA
certificate. With all four combinations the ratio of two such cells is the product of two main
effects (`analysis.effects.ratios`): the server's, over both keys, and the key's, on both servers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured, compare
from tlslab.analysis.effects.ratios import Change, Effect, MeasureValues, at_levels, effects
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.matrix.servers import others, place_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import CONNECTIONS
from tlslab.domain.figure import DataTable, TableCell
from tlslab.domain.finding import Finding
from tlslab.domain.wording import cell_label, level_label
from tlslab.studies.study import Figures

_FACTORS = ("server", "key")


@dataclass(frozen=True)
class Square:
    """The four cells of a setting: two servers, two keys. Ratios are of the first over the second.

    `whole`: the first server with the first key over the second one with the second key. `server`
    and `key`: its factors. `servers`: the server's effect at each key, in the order of `keys`;
    `by_server`: the key's effect on each server. `apart`: whether they are established to differ.
    """

    setting: dict[str, str]
    names: tuple[str, ...]
    keys: tuple[str, ...]
    whole: Estimate
    server: Estimate
    key: Estimate
    servers: tuple[Estimate, ...]
    by_server: tuple[Estimate, ...]
    apart: bool


def squares(cells: Sequence[Measured]) -> list[Square]:
    """The settings in which two servers have two keys each, and all rates may be compared."""
    direct = [cell for cell in cells if place_of(cell).direct]
    names, keys = (
        tuple(dict.fromkeys(cell.summary.factors.get(factor, "") for cell in direct))
        for factor in _FACTORS
    )
    if len(names) != 2 or len(keys) != 2:
        return []
    settings: list[dict[str, str]] = []
    for cell in direct:
        if (setting := _setting(cell)) not in settings:
            settings.append(setting)
    found = (_square(setting, direct, names, keys) for setting in settings)
    return [square for square in found if square is not None]


def _setting(cell: Measured) -> dict[str, str]:
    return {name: level for name, level in others(cell).items() if name != "key"}


def _square(
    setting: dict[str, str],
    cells: Sequence[Measured],
    names: tuple[str, ...],
    keys: tuple[str, ...],
) -> Square | None:
    corner = {
        tuple(cell.summary.factors[factor] for factor in _FACTORS): cell
        for cell in cells
        if _setting(cell) == setting and cell.may_compare(CONNECTIONS)
    }
    if len(corner) < 4:
        return None
    values = {
        frozenset(zip(_FACTORS, levels, strict=True)): cell.values[CONNECTIONS]
        for levels, cell in corner.items()
    }
    measured = MeasureValues("new", CONNECTIONS, values, corner[names[0], keys[0]].anytime)
    # The level against which an effect is comes first.
    varied = {"server": names[::-1], "key": keys[::-1]}
    found = {each.changes: each for each in effects(varied, [measured])}
    server, key = Change("server", *names), Change("key", *keys)
    whole = compare(corner[names[0], keys[0]], corner[names[1], keys[1]], CONNECTIONS)
    if whole is None or (server,) not in found or len(found[server,].logs) < FEWEST:
        return None

    def at(change: Change, other: str) -> tuple[Estimate, ...]:
        each: list[Effect] = list(at_levels(varied, measured, change, other))
        return tuple(effect.ratio for effect in reversed(each))

    return Square(
        setting,
        names,
        keys,
        whole.as_estimate,
        found[server,].ratio,
        found[key,].ratio,
        at(server, "key"),
        at(key, "server"),
        found[server, key].established,
    )


def findings(found: Sequence[Square], study: Figures) -> Iterator[Finding]:
    """The two effects with the group for which the study has both servers, else the first one."""
    of_group = (square for square in found if square.setting.get("group") == study["group"])
    square = next(of_group, next(iter(found), None))
    if square is not None:
        cells = tuple(
            f"{name} with {level_label('key', key)}"
            for name, key in zip(square.names, square.keys, strict=True)
        )
        values = {
            "where": cell_label(square.setting),
            "cells": cells,
            "servers": list(zip(map(_key, square.keys), square.servers, strict=True)),
            "keys": list(zip(square.names, square.by_server, strict=True)),
            "whole": square.whole,
            "server": square.server,
            "key": square.key,
            "apart": square.apart,
        }
        yield Finding("server_and_key", values=values)
        yield Finding("server_and_key_published", values=study)


def _key(key: str) -> str:
    return level_label("key", key)


def table(found: Sequence[Square]) -> tuple[DataTable, ...]:
    """For each setting: the whole ratio, its two factors, and each effect at the other's levels."""
    if not found:
        return ()
    names, keys = found[0].names, tuple(map(_key, found[0].keys))
    of_servers = f"{names[0]} / {names[1]}"
    of_keys = f"{keys[0]} / {keys[1]}"
    rows: list[tuple[TableCell, ...]] = [
        (
            cell_label(square.setting),
            square.whole,
            square.server,
            square.key,
            *square.servers,
            *square.by_server,
        )
        for square in found
    ]
    return (
        DataTable(
            id="server-and-key",
            title="The server's effect and the key's",
            caption=(
                f"Ratios of new connections per second, paired by block. The whole is {names[0]} "
                f"with {keys[0]} over {names[1]} with {keys[1]}: the product of the server's "
                "effect, over both keys, and the key's, on both servers."
            ),
            columns=(
                "",
                "the whole",
                "by the server",
                "by the key",
                *(f"{of_servers}, {key}" for key in keys),
                *(f"{of_keys}, {name}" for name in names),
            ),
            rows=tuple(rows),
        ),
    )
