"""The text of numbers at ticks and beside marks."""

import math

from tlslab.domain.wording import figure, range_words

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

# Beyond these, a power of ten is shorter than digits.
_LARGE = 1e15
_SMALL = 1e-4


def value_text(value: float) -> str:
    """A value with three significant digits: `3,412`, `0.034`, `5.2 M`, `3.1·10⁻⁵`."""
    size = abs(value)
    if size == 0 or 1e-3 <= size < 1e6:
        return figure(value)
    return _short(value, 3)


def range_text(value: float, low: float | None, high: float | None) -> str:
    """A value with its interval: `3,412 (3,390–3,440)`."""
    if low is None or high is None:
        return value_text(value)
    return f"{value_text(value)} ({range_words(value_text(low), value_text(high))})"


def tick_text(value: float, step: float) -> str:
    """A tick's value with the digits that distinguish it from its neighbours, `step` away."""
    size = abs(value)
    if size >= 1e6 or 0 < size < 1e-3:
        return _short(value, max(1, _exponent(value) - _exponent(step) + 2))
    decimals = min(12, max(0, -_exponent(step)))
    if decimals and not _whole(step * 10.0**decimals):
        decimals += 1
    return f"{value:,.{decimals}f}"


def exact(value: float | str) -> str:
    """A value for a script, with seven significant digits."""
    return value if isinstance(value, str) else f"{value:.7g}"


def _short(value: float, digits: int) -> str:
    """The value with a unit prefix or a power of ten, and at most `digits` significant digits."""
    size = abs(value)
    if 1e6 <= size < _LARGE:
        for unit, sign in _UNITS:
            if size >= unit:
                return f"{_trimmed(value / unit, digits)} {sign}"
    if _SMALL <= size < 1:
        return f"{value:.{digits - 1 - _exponent(value)}f}".rstrip("0")
    power = _exponent(value)
    head = _trimmed(value / 10.0**power, digits)
    raised = f"10{str(power).translate(_RAISED)}"
    if head in ("1", "-1"):
        return raised if value > 0 else f"-{raised}"
    return f"{head}·{raised}"


def _trimmed(value: float, digits: int) -> str:
    text = f"{value:.{min(12, max(0, digits - 1 - _exponent(value)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _exponent(value: float) -> int:
    """The power of ten of the first digit, which rounding does not lower."""
    return math.floor(math.log10(abs(value)) + 1e-9) if value else 0


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6
