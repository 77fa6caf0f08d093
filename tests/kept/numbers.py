"""Numbers in documents and reports: `2,682 (2,644-2,722)`, `1.25 times (0.977 to 1.59)`, `6 %`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
ESTIMATE = re.compile(
    rf"(?P<bound>>= |≥ ?|at least )?(?<![\w.,/-])(?:"
    rf"(?P<low_only>{NUMBER})(?: %)?(?: to |–)(?P<high_only>{NUMBER})"
    rf"|(?P<value>{NUMBER})(?: times| %| µs| ms)?"
    rf"(?: \((?: : )?(?P<low>{NUMBER})(?: to |-)(?P<high>{NUMBER})(?=\)|,))?"
    rf")\)?(?: ?(?:%|µs|ms|s|/s|times)(?![\w]))?(?![\w])"
)

# A number with a point, a comma or a unit; others are counts.
MEASURED = re.compile(r"[.,]|%|µs|ms|times|/s|\ds| s")

# Texts with digits that are no measurements; the last ones are sizes of Diffie-Hellman parameters.
NAMES = re.compile(
    r"`[^`]*`|\]\([^)]*\)|\b(?:TLS|SSL|HTTP|nginx|Apache|HAProxy|Tomcat|OpenSSL|JDK|Java|Node\.js|ADR"
    r"|RFC|Table|PKCS #)[ /-]?\d+(?:\.\d+)*|\b(?:P|RSA|SHA|MD|RC4-MD|ML-KEM)-?\d+|\bX(?:25519|448)"
    r"|\b[A-Z0-9-]*(?:AES|DHE)[A-Z0-9-]*\d[A-Z0-9-]*|\bp\d{2,3}\b|\b1 : 2\b"
    r"|95 %(?=:| over| interval| confidence)|\b(?:19|20)\d\d\b(?![,.]\d)"
    r"|\b(?:1,024|2,048|3,072|4,096)(?= bits)|(?<=(?:of|th) )2,048\b"
)

Key = tuple[Decimal | None, Decimal | None, Decimal | None, bool]


@dataclass(frozen=True)
class Number:
    """A number as written: value and interval, either of which may be missing.

    `percent`: it is a percentage. `bound`: it is marked as a lower bound.
    """

    text: str
    value: Decimal | None
    low: Decimal | None
    high: Decimal | None
    percent: bool
    bound: bool
    measured: bool

    @property
    def key(self) -> Key:
        """The common form of two notations of one number."""
        return self.value, self.low, self.high, self.percent


def numbers(text: str) -> Iterator[Number]:
    """All numbers of a text, except those that are part of a name."""
    for match in ESTIMATE.finditer(NAMES.sub(" ", text)):
        yield _number(match)


def _number(match: re.Match[str]) -> Number:
    low, high = match["low"] or match["low_only"], match["high"] or match["high_only"]
    percent = "%" in match[0]
    return Number(
        text=match[0].strip(),
        value=_decimal(match["value"]),
        low=_decimal(low),
        high=_decimal(high),
        percent=percent,
        bound=match["bound"] is not None,
        measured=low is not None or MEASURED.search(match[0]) is not None,
    )


def _decimal(text: str | None) -> Decimal | None:
    return Decimal(text.replace(",", "")) if text else None
