"""The form of names and figures in sentences, tables and charts."""

import math
from collections.abc import Iterable, Mapping, Sequence

from tlslab.domain.factors import FACTORS
from tlslab.domain.names import find_suite

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def level_label(factor: str, level: str) -> str:
    """A factor's level in readers' terms: `TLS 1.3`, `ECDSA P-256`; other levels unchanged."""
    return FACTORS[factor].label(level) if factor in FACTORS else level


def cell_label(factors: Mapping[str, str]) -> str:
    """Levels side by side: `TLS 1.3, ECDSA P-256`; `all cells` for none.

    Levels of factors that do not apply to the cell (the size of parameters that it lacks) are
    omitted.
    """
    labels = (
        level_label(name, level)
        for name, level in factors.items()
        if name not in FACTORS or level != FACTORS[name].absent
    )
    return ", ".join(labels) or "all cells"


def short_label(factors: Mapping[str, str]) -> str:
    """As `cell_label`, with OpenSSL's short names of suites: `ECDHE-RSA-AES128-GCM-SHA256`."""
    suite = find_suite(factors.get("suite", ""))
    return cell_label({**factors, "suite": suite.openssl} if suite else factors)


def subject_noun(factors: Iterable[str]) -> str:
    """The noun for cells that differ in these factors: `cipher suite`, or `combination`."""
    # The size of Diffie-Hellman parameters belongs to a suite.
    named = [name for name in factors if name != "dh_bits"] or ["dh_bits"]
    row = FACTORS.get(named[0]) if len(named) == 1 else None
    return (row and row.noun) or "combination"


def setting_of(factors: Mapping[str, str], baseline: Mapping[str, str]) -> dict[str, str]:
    """The levels that a cell shares with its baseline: those that are not compared."""
    return {name: level for name, level in factors.items() if name not in baseline}


def number_word(number: int) -> str:
    """`one` to `nine` in words, others in figures."""
    return _NUMBERS[number] if 0 <= number < len(_NUMBERS) else str(number)


def every(number: int) -> str:
    """N things taken together: `both`, `all 4`."""
    return "both" if number == 2 else f"all {number}"


def figure(value: float) -> str:
    """A value with three significant digits, or all digits before the point: `3,412`, `34.1`."""
    size = abs(value)
    if size == 0 or size >= 100:
        return f"{value:,.0f}"
    if size >= 99.95:
        return f"{value:.0f}"
    digits = 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
    if size < 1e-6:
        return f"{value:.1e}"
    if size < 0.001:
        digits = 2 - math.floor(math.log10(size))
    return f"{value:.{digits}f}"


def ratio_figure(ratio: float) -> str:
    """A ratio with two decimals, three where it is near 1, fewer from 10 on."""
    if ratio >= 10:
        return figure(ratio)
    if ratio < 0.1:
        return f"{ratio:.3f}" if ratio >= 0.01 else figure(ratio)
    return f"{ratio:.3f}" if 0.9 < ratio < 1.1 else f"{ratio:.2f}"


def percent(share: float) -> str:
    """A share as a percentage: `97 %`, below one percent with a digit more."""
    if 0 < abs(share) < 0.0001:
        return "less than 0.01 %"
    return f"{share:.0%}".replace("%", " %") if abs(share) >= 0.0095 else f"{share * 100:.2g} %"


def difference(share: float) -> str:
    """A bound of a difference, rounded up: `4 %`; from a factor of two on `2.4 times`."""
    if share < 0.01:
        return f"{_ceiling(share * 1000) / 10:g} %"
    if share < 1:
        return f"{_ceiling(share * 100)} %"
    return f"{_ceiling((1 + share) * 10) / 10:g} times" if share < 9 else "more than 10 times"


def _ceiling(value: float) -> int:
    """The next whole number, without errors of binary fractions: 7 for 100 * 0.07."""
    return math.ceil(round(value, 9))


def percent_as_given(share: float) -> str:
    """A share chosen by a user, with all its digits: `2.5 %`."""
    return f"{100 * share:g} %"


def joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def few(names: Sequence[str], most: int = 4, first: int = 3, others: str = "other") -> str:
    """The names; of more than `most`, the first ones and the number of the `others`."""
    if len(names) <= most:
        return joined(names)
    return joined([*names[:first], counted(len(names) - first, others)])


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def counted(number: int, what: str) -> str:
    """A number with its noun: `1 cell`, `1,024 connections`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
