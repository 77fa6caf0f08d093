"""The verdict of a proof from its summary's intervals, by the rule of docs/reference/prove.md."""

from collections.abc import Mapping
from typing import Any

FEWEST = 5
DECIDING = {"connections", "requests"}
EXIT_CODES = {"deploy": 0, "no_difference": 0, "do_not": 1, "cannot_tell": 4}


def direction(figure: Mapping[str, Any], margin: float) -> str:
    """The finding that a ratio establishes."""
    ends = [figure[name] for name in ("own_low", "own_high", "low", "high")]
    if figure["n"] < FEWEST or None in ends:
        return "open"
    own_low, own_high, low, high = ends
    if 1 / (1 + margin) < own_low and own_high < 1 + margin:
        return "equal"
    if low > 1:
        return "gain"
    return "loss" if high < 1 / (1 + margin) else "open"


def verdict(proof: Mapping[str, Any]) -> str:
    """The verdict by the deciding ratios. Reasons of clients and policies overrule it."""
    margin = proof["settings"]["margin"]
    deciding = [each for each in proof["figures"] if each["decides"]]
    said = [direction(each, margin) for each in deciding]
    if proof["reasons"] or "loss" in said:
        return "do_not"
    if {each["measure"] for each in deciding} != DECIDING:
        return "cannot_tell"
    if set(said) == {"equal"}:
        return "no_difference"
    safe = all(
        each["n"] >= FEWEST and (each["own_low"] or 0.0) > 1 / (1 + margin) for each in deciding
    )
    return "deploy" if "gain" in said and safe else "cannot_tell"
