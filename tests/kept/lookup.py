"""Compares one number with the value of its reference."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from kept.figures import Found, NotKeptError, cell, count, says
from kept.numbers import Number, numbers

Spec = str | Mapping[str, Any]

OPERATORS: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass
class Lookup:
    """Looks numbers up in the kept figures in `folder`.

    `references` are those of a block. `used` collects the reports that were read.
    """

    folder: Path
    references: Mapping[str, Any]
    used: set[str] = field(default_factory=set)

    def differs(self, shown: Number, spec: Spec, context: str) -> Iterator[str]:
        """The differences between a number and its reference; nothing if they are equal.

        `context` is the row or the paragraph, which must contain the words of a verdict.
        """
        whole = self._with_defaults({"says": spec} if isinstance(spec, str) else spec)
        try:
            if "says" in whole:
                yield from self._quoted(shown, whole)
            elif "value" in whole or "from" in whole:
                yield from self._computed(shown, whole, context)
            elif "count" in whole:
                found = count(self.folder, whole)
                if shown.value != found:
                    yield f"the report has {found}"
            else:
                yield from _same(shown, cell(self.folder, whole), context)
        except NotKeptError as error:
            yield str(error)

    def text_differs(self, shown: str, spec: Mapping[str, Any], context: str) -> Iterator[str]:
        """The differences of a cell with several numbers (`4 of 7`) from the report's text."""
        try:
            found = cell(self.folder, self._with_defaults(spec))
        except NotKeptError as error:
            yield f"{shown}: {error}"
            return
        if found.text != shown:
            yield f"{shown}: the report has {found.text}"
        yield from (f"{shown}: {what}" for what in _missing_words(found, context, None))

    def _with_defaults(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        known = {
            part: self.references[part] for part in ("report", "table") if part in self.references
        }
        whole = {**known, **spec}
        if "report" in whole:
            self.used.add(whole["report"])
        return whole

    def _quoted(self, shown: Number, whole: Mapping[str, Any]) -> Iterator[str]:
        if not says(self.folder, whole["report"], whole["says"]):
            yield f"{whole['report']} does not say {whole['says']!r}"
        quoted = list(numbers(whole["says"]))
        ends = {(each.low, each.high) for each in quoted} | {(None, None)}
        if shown.value not in {None, *(each.value for each in quoted)} or (
            (shown.low, shown.high) not in ends
        ):
            yield f"not in {whole['says']!r}"

    def _computed(self, shown: Number, whole: Mapping[str, Any], context: str) -> Iterator[str]:
        known: dict[str, Number] = {}
        for name, address in whole.items():
            if isinstance(address, Mapping):
                found = cell(self.folder, self._with_defaults(address))
                yield from _missing_words(found, context, shown)
                known[name] = _number(found)
        for part, formula in (("value", "value"), ("low", "from"), ("high", "to")):
            written: Decimal | None = getattr(shown, part)
            if written is None:
                continue
            if formula not in whole:
                yield f"no formula {formula!r}"
                continue
            result = evaluate(whole[formula], known) * (100 if shown.percent else 1)
            last_digit = Decimal(1).scaleb(int(written.as_tuple().exponent))
            if abs(result - written) >= last_digit:
                yield f"{whole[formula]} is {result:.4g}"


def _number(found: Found) -> Number:
    if found.number is None:
        raise NotKeptError(f"the report has no number there: {found.text!r}")
    return found.number


def _same(shown: Number, found: Found, context: str) -> Iterator[str]:
    wanted = _number(found)
    yield from _missing_words(found, context, shown)
    scale = 100 if shown.percent and not wanted.percent else 1
    for written, kept in (
        (shown.value, wanted.value),
        (shown.low, wanted.low),
        (shown.high, wanted.high),
    ):
        if written is not None and (kept is None or written != kept * scale):
            yield f"the report has {found.text}"
            return


def _missing_words(found: Found, context: str, shown: Number | None) -> Iterator[str]:
    bound = "bound" in found.words or (found.number is not None and found.number.bound)
    if bound and (shown is None or not shown.bound):
        yield "a lower bound in the report"
    for word in found.words:
        if word != "bound" and word not in context:
            yield f"the report's row is {word}: say so"


def evaluate(formula: str, known: Mapping[str, Number]) -> Decimal:
    """A formula of numbers and of `NAME.value`, `NAME.low` and `NAME.high`, with + - * / only."""

    def of(node: ast.expr) -> Decimal:
        match node:
            case ast.BinOp(left, op, right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](of(left), of(right))
            case ast.Constant(value) if isinstance(value, int | float):
                return Decimal(str(value))
            case ast.Attribute(ast.Name(name), part) if name in known:
                found = getattr(known[name], part, None)
                if isinstance(found, Decimal):
                    return found
        raise NotKeptError(f"no formula: {formula}")

    return of(ast.parse(formula, mode="eval").body)
