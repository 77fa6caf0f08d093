"""The part that a call stack belongs to, by the rules of `parts.toml`."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

SCHEMA = "tlslab.parts/1"
NOT_ATTRIBUTED = "not attributed"
UNKNOWN = "?"


@dataclass(frozen=True)
class Rule:
    """Frames of a library with a symbol; `why` names the source of the names."""

    part: str
    library: re.Pattern[str]
    symbol: re.Pattern[str]
    why: str

    def matches(self, library: str, symbol: str) -> bool:
        """Whether the frame matches the rule."""
        return bool(self.library.fullmatch(library)) and bool(self.symbol.fullmatch(symbol))


@dataclass(frozen=True)
class Tier:
    """Rules that are tried together, frame by frame."""

    start: Literal["inside", "outside"]
    rules: tuple[Rule, ...]


class Rules:
    """All tiers, in their order; `parts` in the order of bars."""

    def __init__(self, parts: Sequence[str], tiers: Sequence[Tier]) -> None:
        self.parts = tuple(parts)
        self.tiers = tuple(tiers)
        # A cache: most frames occur in many stacks.
        self._known: dict[tuple[int, str], str | None] = {}

    def part_of(self, frames: Sequence[str]) -> str:
        """The part of a stack of frames LIBRARY`SYMBOL, the outermost first."""
        for number, tier in enumerate(self.tiers):
            ordered = frames if tier.start == "outside" else tuple(reversed(frames))
            for frame in ordered:
                if (part := self._part(number, frame)) is not None:
                    return part
        return NOT_ATTRIBUTED

    def _part(self, tier: int, frame: str) -> str | None:
        key = (tier, frame)
        if key not in self._known:
            library, _, symbol = frame.partition("`")
            rules = self.tiers[tier].rules
            found = (rule.part for rule in rules if rule.matches(library, symbol))
            self._known[key] = next(found, None)
        return self._known[key]


@cache
def load_rules() -> Rules:
    """The shipped rules."""
    text = (resources.files("tlslab.analysis.why") / "parts.toml").read_text("utf-8")
    return parse_rules(tomllib.loads(text))


def parse_rules(data: dict[str, Any]) -> Rules:
    """The rules of a table of TOML. Raises ValueError for another schema or an unknown part."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"the rules' schema is not {SCHEMA}")
    tiers = [
        Tier(tier["from"], tuple(_rule(rule) for rule in tier["rule"])) for tier in data["tier"]
    ]
    unknown = {r.part for tier in tiers for r in tier.rules} - set(data["parts"])
    if unknown:
        raise ValueError(f"rules for unknown parts: {', '.join(sorted(unknown))}")
    return Rules(data["parts"], tiers)


def _rule(data: dict[str, str]) -> Rule:
    return Rule(
        data["part"],
        re.compile(data.get("library", ".*")),
        re.compile(data.get("symbol", ".*")),
        data["why"],
    )


def stacks_of(folded: str) -> list[tuple[tuple[str, ...], int]]:
    """Frames and number of samples of each line of folded stacks; the process's name is left out.

    Raises ValueError for a line without a number.
    """
    found = []
    for line in folded.splitlines():
        stack, _, number = line.rpartition(" ")
        found.append((tuple(stack.split(";")[1:]), int(number)))
    return found
