"""Scales: from numbers to pixels, with ticks at round numbers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tlslab.report.svg.figures import tick_text

# An axis is better logarithmic where its values span more than this factor.
WIDE = 20

# Ticks of a logarithmic axis within a decade: of one, of a few, of many decades.
_DECADE = (1, 2, 3, 4, 5, 7)
_DECADES = (1, 2, 5)
_FEW = 3

# Numbers are ticks themselves where they are whole and not more than this.
_OWN_TICKS = 9


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` on pixels from `start` to `end`; `ticks` lie in between."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[float, ...]
    step: float

    def __call__(self, value: float) -> float:
        """The place of a value in pixels; what the scale does not reach lies at its end."""
        if self.log:
            if value <= 0:
                return self.start
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether the value has a place: on a logarithmic scale only a positive one has."""
        return value > 0 or not self.log

    def text(self, tick: float) -> str:
        """A tick's label."""
        return tick_text(tick, self.step if not self.log else tick)


def scale(
    numbers: Iterable[float],
    start: float,
    end: float,
    log: bool,
    spacing: float,
    zero: bool = False,
    tight: bool = False,
) -> Scale:
    """A scale with ticks about `spacing` pixels apart.

    `zero`: the scale contains zero, if it is linear. `tight`: it ends at the least and largest
    number, not at the ticks beyond them.
    """
    known = sorted({number for number in numbers if not log or number > 0})
    count = max(2, int(abs(end - start) / spacing))
    if log:
        return _log(known or [1.0, 10.0], start, end, count, tight)
    return _linear(known or [0.0, 1.0], start, end, count, zero, tight)


def _linear(
    known: list[float], start: float, end: float, count: int, zero: bool, tight: bool
) -> Scale:
    low, high = known[0], known[-1]
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        # One value alone: in the middle, or at the end of a bar.
        spread = abs(high) * 0.1 or 1.0
        low, high = (low, high + spread) if low == 0 else (low - spread, high + spread)
    step = _step((high - low) / count)
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    if tight:
        first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    else:
        low, high = min(low, first * step), max(high, last * step)
    ticks = tuple(
        round(n * step, 12 - math.floor(math.log10(step))) for n in range(first, last + 1)
    )
    return Scale(low, high, start, end, False, ticks, step)


def _step(least: float) -> float:
    """The least of 1, 2, 5 and their tenfolds that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10, 20) if power * factor >= least * 0.999)


def _log(known: list[float], start: float, end: float, count: int, tight: bool) -> Scale:
    low, high = known[0], known[-1]
    if high <= low * 1.001:
        low, high = low / 2, high * 2
    ticks = _log_ticks(low, high, count)
    if tight:
        if len(known) <= _OWN_TICKS and all(each.is_integer() for each in known):
            ticks = known
    else:
        low = max((each for each in ticks if each <= low * 1.001), default=low)
        high = min((each for each in ticks if each >= high * 0.999), default=high)
    inside = tuple(tick for tick in ticks if low * 0.999 <= tick <= high * 1.001)
    return Scale(low, high, start, end, True, inside, 0.0)


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers around and between `low` and `high`, about `count` of them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = last - first
    steps: tuple[int, ...] = _DECADES if decades <= _FEW else (1,)
    if high < 10 * low and count > len(_DECADE):
        steps = _DECADE
    if high < 2.5 * low:
        return list(_linear([low, high], 0, 1, count, False, False).ticks)
    every = max(1, math.ceil(decades / max(count, 1))) if len(steps) == 1 else 1
    powers = range(first - first % every, last + every, every)
    return [float(f"{digit}e{power}") for power in powers if -300 < power < 300 for digit in steps]
