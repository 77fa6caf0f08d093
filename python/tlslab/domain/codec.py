"""Conversion between the model's dataclasses and JSON.

The names in JSON are the fields' names, with `class` for `class_`. Unknown fields are ignored, so
that an older tlslab reads records of a newer one; missing or wrong fields are errors that name the
place.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from cattrs import Converter
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.v import transform_error

from tlslab.contract.probe import Refusal
from tlslab.contract.record import FailureReason
from tlslab.domain.deployment import Deployment
from tlslab.domain.errors import StoreError
from tlslab.domain.estimate import Estimate
from tlslab.domain.factors import DEPLOYED, OFFERED, FactorRow, level_of, levels_of, values_of
from tlslab.domain.figure import Figure, Marked, TableCell
from tlslab.domain.profile import Profile
from tlslab.domain.trial import Reason

T = TypeVar("T")


def _converter() -> Converter:
    converter = Converter()
    renamed = override(rename="class")
    for kind in (Reason, Refusal, FailureReason):
        converter.register_structure_hook(
            kind, make_dict_structure_fn(kind, converter, class_=renamed)
        )
        converter.register_unstructure_hook(
            kind, make_dict_unstructure_fn(kind, converter, class_=renamed)
        )
    converter.register_structure_hook(TableCell, lambda cell, _: _table_cell(converter, cell))
    figure = make_dict_structure_fn(Figure, converter)
    # Older summaries say by the id alone that a figure is of a setting.
    converter.register_structure_hook(
        Figure,
        lambda data, kind: figure(
            {"of_setting": str(data.get("id")).startswith("setting-"), **data}, kind
        ),
    )
    _flatten_levels(converter, Deployment, DEPLOYED)
    _flatten_levels(converter, Profile, OFFERED)
    converter.register_structure_hook(float | str, lambda place, _: place)
    return converter


def _table_cell(converter: Converter, cell: dict[str, Any] | TableCell) -> TableCell:
    if not isinstance(cell, dict):
        return cell
    kind: type[Marked | Estimate] = Marked if "mark" in cell else Estimate
    return converter.structure(cell, kind)


def _flatten_levels(converter: Converter, kind: type[Any], rows: Mapping[str, FactorRow]) -> None:
    """The levels of a dataclass as fields of its own in JSON, each with its value."""
    structure = make_dict_structure_fn(kind, converter, levels=override(omit=True))
    unstructure = make_dict_unstructure_fn(kind, converter, levels=override(omit=True))

    def read(data: dict[str, Any], _: type[Any]) -> Any:
        given = {name: level_of(data[name]) for name in rows if data.get(name) is not None}
        return replace(structure(data, kind), levels=levels_of(rows, given))

    def write(value: Any) -> dict[str, Any]:
        return unstructure(value) | values_of(rows, value.levels)

    converter.register_structure_hook(kind, read)
    converter.register_unstructure_hook(kind, write)


_CONVERTER = _converter()


def to_json(value: Any) -> Any:
    """A dataclass of the model in the form for `json.dumps`."""
    return _CONVERTER.unstructure(value)


def from_json(data: Any, kind: type[T]) -> T:
    """A dataclass of the model from the result of `json.loads`. Raises StoreError."""
    try:
        return _CONVERTER.structure(data, kind)
    except (
        BaseValidationError,
        TypeError,
        ArithmeticError,
        ValueError,
        LookupError,
        AttributeError,
    ) as error:
        reasons = transform_error(error) if isinstance(error, BaseValidationError) else [str(error)]
        raise StoreError(f"not a {kind.__name__}: {'; '.join(reasons[:3])}") from None
