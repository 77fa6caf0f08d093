"""Scales: from numbers to pixels, with ticks at round numbers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from tlslab.report.svg.markup import number
from tlslab.report.svg.text import exact, tick_text, width_of

# A logarithmic axis is better if its values span more than this factor.
WIDE = 20

# Ticks of a logarithmic axis within a decade, if there is room. If the ratio between its ends is
# below the following factor, an axis has the ticks of a linear one.
_DECADE = (1, 2, 3, 4, 5, 7)
_DECADES = (1, 2, 5)
_SHORT = 2.5

# An axis ends at the next tick unless that adds this share; otherwise it ends after a smaller
# share.
_FAR = 0.12
_LITTLE = 0.04

# A horizontal axis has as many ticks as fit at the first distance. It may have the fewest if their
# labels are at least the second distance apart; in pixels.
_NEAREST = 56.0
_FEWEST = 5
_APART = 12.0

# Numbers become ticks themselves if they are whole and no more than this.
_OWN_TICKS = 9


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` on pixels from `start` to `end`; `ticks` lie in between.

    `step`: the distance of the ticks; 0 if it grows with them.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[float, ...]
    step: float

    def __call__(self, value: float) -> float:
        """The position of a value in pixels; a value outside the scale lies at its end."""
        if self.log:
            if value <= 0:
                return self.start
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether the value has a position: on a logarithmic scale only a positive one has."""
        return value > 0 or not self.log

    @property
    def known(self) -> str:
        """The data for a script that places more marks: kind, ends in numbers, ends in pixels."""
        ends = f"{exact(self.low)} {exact(self.high)} {number(self.start)} {number(self.end)}"
        return f"{'log' if self.log else 'linear'} {ends}"

    def text(self, tick: float) -> str:
        """A tick's label."""
        return tick_text(tick, self.step or tick)


def scale(
    numbers: Iterable[float],
    start: float,
    end: float,
    log: bool,
    count: int,
    zero: bool = False,
    tight: bool = False,
    own: bool = False,
) -> Scale:
    """A scale with about `count` ticks; without numbers it has none.

    `zero`: the scale contains zero, if it is linear. `tight`: it ends at the smallest and largest
    number, not at round ones beyond them. `own`: a few whole numbers are themselves the ticks of a
    logarithmic scale.
    """
    known = sorted({value for value in numbers if not log or value > 0})
    if not known:
        return Scale(1.0, 10.0, start, end, log, (), 1.0)
    if log:
        return _log(known, start, end, count, tight, own)
    return _linear(known, start, end, count, zero, tight)


def lying(
    numbers: Iterable[float],
    start: float,
    end: float,
    log: bool,
    zero: bool = False,
    own: bool = False,
) -> Scale:
    """A tight horizontal scale with as many ticks as their labels have room for."""
    known = list(numbers)
    most = max(_FEWEST, int(abs(end - start) / _NEAREST))
    made = scale(known, start, end, log, most, zero, True, own)
    for count in range(most - 1, 1, -1):
        if _free(made):
            break
        fewer = scale(known, start, end, log, count, zero, True, own)
        # A single tick shows no distance.
        made = fewer if len(fewer.ticks) > 1 else made
    return made


def _free(made: Scale) -> bool:
    boxes = [(made(tick), width_of(made.text(tick)) / 2) for tick in made.ticks]
    return all(
        left + half + _APART <= right - other for (left, half), (right, other) in pairwise(boxes)
    )


def _linear(
    known: list[float], start: float, end: float, count: int, zero: bool, tight: bool
) -> Scale:
    low, high = known[0], known[-1]
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        # A single value lies in the middle, or at the end of a bar.
        spread = abs(high) * 0.1 or 1.0
        low, high = (low, high + spread) if low == 0 else (low - spread, high + spread)
    step = _step((high - low) / count)
    if not tight:
        low, high = -_beyond(-low, step, high - low), _beyond(high, step, high - low)
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    digits = 12 - math.floor(math.log10(step))
    ticks = tuple(round(n * step, digits) for n in range(first, last + 1))
    return Scale(low, high, start, end, False, ticks, step)


def _beyond(high: float, step: float, span: float) -> float:
    """The end of an axis: the next tick, or only a little more if the tick is far."""
    last = math.ceil(high / step - 1e-6) * step
    return last if last - high <= _FAR * span else high + _LITTLE * span


def _step(least: float) -> float:
    """The smallest of 1, 2, 5 and their multiples by powers of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10, 20) if power * factor >= least * 0.999)


def _log(known: list[float], start: float, end: float, count: int, tight: bool, own: bool) -> Scale:
    low, high = known[0], known[-1]
    if high <= low * 1.001:
        low, high = low / 2, high * 2
    if not tight:
        around = _decades(low, high, _DECADES, 1)
        low = max((tick for tick in around if tick <= low), default=low)
        high = min((tick for tick in around if tick >= high), default=high)
    few = own and len(known) <= _OWN_TICKS and all(value.is_integer() for value in known)
    ticks = tuple(known) if few else _log_ticks(low, high, count)
    step = ticks[1] - ticks[0] if high < _SHORT * low and len(ticks) > 1 and not few else 0.0
    return Scale(low, high, start, end, True, ticks, step)


def _log_ticks(low: float, high: float, count: int) -> tuple[float, ...]:
    """Round numbers between `low` and `high`, at most `count` of them if two remain then."""
    if high < _SHORT * low:
        return _linear([low, high], 0, 1, count, False, True).ticks
    every = 1
    choices = iter((_DECADE, _DECADES, (1, 3), (1,)))
    steps = next(choices)
    while True:
        ticks = tuple(
            tick
            for tick in _decades(low, high, steps, every)
            if low * 0.999 <= tick <= high * 1.001
        )
        if len(ticks) <= max(count, 2):
            return ticks
        fewer = next(choices, None)
        steps, every = (fewer, 1) if fewer else (steps, every + 1)


def _decades(low: float, high: float, steps: Iterable[int], every: int) -> list[float]:
    """Numbers with the first digits `steps` around `low` and `high`, in one of `every` decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = range(first - first % every, last + 1, every)
    return [float(f"{digit}e{power}") for power in powers if abs(power) <= 300 for digit in steps]
