"""The values of options, read from text.

Each function raises UsageError for a text that is not such a value, with the form to write.
"""

import re
from urllib.parse import urlsplit

from tlslab.domain.command_line import canonical
from tlslab.domain.deployment import MANAGED_SERVERS
from tlslab.domain.errors import UsageError

# One week.
LIMIT_SECONDS = 7 * 86_400

LIMIT_RATE = 1e9

LIMIT_BYTES = 1 << 30

# Forms that only a running server can have: `host:port`, an address, or a name with a dot; with or
# without a path.
_HOST = r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+"
_PLACE = re.compile(
    rf"(?:(?:{_HOST}):\d{{1,5}}|\[[0-9A-Fa-f:.]+\]|localhost|[^/\s,:]+\.[^/\s,:]+)(/\S*)?"
)

# The first URL of a list that goes on behind its first slash, and the start of a further URL.
# `tlslab-load` has the same rule (crates/wire/src/target.rs).
_ORIGIN = re.compile(r"[^/]*//[^/]*/")
_SCHEME = re.compile(r"[A-Za-z0-9]+://")

_RATE = re.compile(r"(\d+(?:\.\d+)?)(k?)(?:/s)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(k|kB|KiB|M|MB|MiB|B)?")
_UNIT_BYTES = {
    "": 1, "B": 1, "k": 1024, "kB": 1000, "KiB": 1024, "M": 1024**2, "MB": 1000**2, "MiB": 1024**2,
}  # fmt: skip


def servers_in(text: str) -> list[str]:
    """The servers of a list: names, places and URLs, separated by commas or blanks.

    A text with a URL is a list if another URL follows a comma or blank, or if anything follows the
    slash of an origin: `https://h/,nginx`. Otherwise commas belong to the URL: `https://h/a,b`.
    """
    parts = [part for part in re.split(r"[,\s]+", text) if part]
    more = parts[1:]
    is_url = "://" in text
    if is_url and not (more and (_ORIGIN.fullmatch(parts[0]) or any(map(_SCHEME.match, more)))):
        return [text.strip()]
    return parts if is_url else [name.strip() for name in text.split(",") if name.strip()]


def _only(target: str) -> str:
    """The one server of a text. Raises UsageError for several, and for a URL without a host."""
    servers = servers_in(target)
    if len(servers) > 1:
        raise UsageError(
            f"{target}: one server at a time",
            "give one; a comma in the path of a URL is written %2C",
        )
    _, sign, rest = target.partition("://")
    if sign and not re.match(r"(?!:)[^/?#,\s]+(?:[/?#]|$)", rest):
        raise UsageError(
            f"{target}: its host is empty, or has a comma or a blank",
            "write it like https://HOST[:PORT]/PATH",
        )
    return servers[0] if servers else target


def as_url(target: str) -> str:
    """A target by the lab's name: a server's name unchanged, `localhost:8443` as an HTTPS URL."""
    target = _only(target)
    scheme, sign, rest = target.partition("://")
    if sign and scheme.lower() != "https":
        raise UsageError(
            f"{target}: only https:// can be measured",
            f"write https://{rest}, with the port that speaks TLS; without TLS: `tlslab load "
            "http://...`, or `--vary tls=none,1.3` on a server that tlslab starts",
        )
    if sign:
        return canonical(target)
    if target in MANAGED_SERVERS or not _PLACE.fullmatch(target):
        return target
    return canonical(f"https://{target}")


def as_place(target: str) -> str:
    """`HOST[:PORT]` of a target that may be an HTTPS URL."""
    target = _only(target)
    if "://" not in target:
        return target.partition("/")[0]
    parts = urlsplit(target)
    if parts.scheme != "https" or not parts.netloc:
        raise UsageError(
            f"{target}: only a server that speaks TLS can be asked",
            "give HOST[:PORT] or https://HOST[:PORT]/",
        )
    return parts.netloc


def as_share(text: str, option: str) -> float:
    """`3%` as 0.03: a percentage above 0 and up to 100."""
    number, sign, rest = text.strip().partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not sign or rest or not 0 < share <= 1:
        raise UsageError(f"{option} {text}: not a percentage", "write it like 3% or 0.5%")
    return share


def as_percentage(text: str, option: str) -> str:
    """`60%` or `60`, a whole percentage from 0 to 100, as the level `60%`."""
    found = re.fullmatch(r"(100|[1-9]?[0-9])%?", text.strip())
    if found is None:
        raise UsageError(
            f"{option} {text}: not a whole percentage from 0% to 100%", "write it like 60%"
        )
    return f"{found[1]}%"


def as_seconds(text: str, option: str) -> float:
    """`90s`, `10m` or `2h` in seconds: a second to a week."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    seconds = float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] if found else 0.0
    if not 1 <= seconds <= LIMIT_SECONDS:
        raise UsageError(f"{option} {text}: not a time", "write it like 90s, 10m or 2h, up to 168h")
    return seconds


def as_rate(text: str, option: str) -> float:
    """`5000/s`, `5000` or `5k/s` as connections per second."""
    found = _RATE.fullmatch(text.strip().replace(",", ""))
    rate = float(found[1]) * (1000 if found[2] else 1) if found else 0.0
    if not 0 < rate <= LIMIT_RATE:
        raise UsageError(f"{option} {text}: not a rate", "write it like 5000/s or 5k/s")
    return rate


def as_bytes(text: str, option: str) -> int:
    """`4096`, `4k` or `4kB` in bytes."""
    found = _SIZE.fullmatch(text.strip())
    size_bytes = float(found[1]) * _UNIT_BYTES[found[2] or ""] if found else -1.0
    if not 0 <= size_bytes <= LIMIT_BYTES:
        raise UsageError(
            f"{option} {text}: not a size up to 1 GiB", "write it like 4096, 4k (4,096) or 4kB"
        )
    return round(size_bytes)
