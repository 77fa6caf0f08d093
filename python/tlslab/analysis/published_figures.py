"""Published figures: dated data files in `experiments/published`, used as ratios only."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tlslab.domain.deployment import NO_FRONT
from tlslab.domain.errors import UsageError
from tlslab.domain.estimates import CONNECTIONS, CONNECTIONS_PER_CPU
from tlslab.domain.finding import Published

SCHEMA = "tlslab.published/1"

# The estimates beside which a study's requests per second on new connections stand. The second one
# counts the work of both sides, like a study whose client and server share one host.
ESTIMATES = (CONNECTIONS, CONNECTIONS_PER_CPU)


@dataclass(frozen=True)
class Offloader:
    """A study's result for a TLS offloader in front of its server, with `group`.

    `to_same`: the least and the greatest ratio to the server alone with the same group.
    `to_fastest`: the ratio to the server alone with the study's fastest group.
    """

    group: str
    to_same: tuple[float, float]
    to_fastest: float
    words: str


@dataclass(frozen=True)
class TwoServers:
    """The ratio of the better to the worse of a study's servers, each at its best."""

    ratio: float
    words: str


@dataclass(frozen=True)
class Study:
    """A study's requests per second by group, and the cells to which they apply."""

    source: str
    baseline: str
    applies_to: Mapping[str, str]
    requests_per_s: Mapping[str, float]
    offloader: Offloader | None = None
    servers: TwoServers | None = None

    def beside(self, candidate: Mapping[str, str], baseline: Mapping[str, str]) -> Published | None:
        """The study's ratio between two cells with these factors, if it has one."""
        if any(candidate.get(name) != level for name, level in self.applies_to.items()):
            return None
        if baseline.get("group") != self.baseline or not _direct(baseline):
            return None
        if not _direct(candidate):
            found = self.offloader
            if found is None or candidate.get("group") != found.group:
                return None
            return Published(found.to_fastest, self.source)
        rate = self.requests_per_s.get(candidate.get("group", ""))
        if rate is None:
            return None
        return Published(rate / self.requests_per_s[self.baseline], self.source)


@dataclass(frozen=True)
class Order:
    """A study with a known order and no rates, except those of its two ends.

    `order` has OpenSSL's names of suites, fastest first; `spread` is fastest / slowest. The `dh_`
    fields describe its round over Diffie-Hellman sizes: the best and the worst, and the load.
    """

    source: str
    date: str
    applies_to: Mapping[str, str]
    order: tuple[str, ...]
    spread: float
    dh_best: int
    dh_worst: int
    dh_connections: int
    dh_seconds: float


def load_study(name: str) -> Study | None:
    """The study with this name; None if it published an order only.

    Raises UsageError if tlslab does not ship it.
    """
    data = _read(name)
    if "order" in data:
        return None
    return Study(
        source=_source(data),
        baseline=data["baseline"]["group"],
        applies_to=data["applies_to"],
        requests_per_s={row["group"]: row["requests_per_s"] for row in data["row"]},
        offloader=_offloader(data.get("offloader")),
        servers=TwoServers(**data["servers"]) if "servers" in data else None,
    )


def _direct(factors: Mapping[str, str]) -> bool:
    """Whether clients connect to the server itself, without a front."""
    return factors.get("front", NO_FRONT) == NO_FRONT


def _offloader(data: Mapping[str, Any] | None) -> Offloader | None:
    if data is None:
        return None
    low, high = data["to_same"]
    return Offloader(data["group"], (low, high), data["to_fastest"], data["words"])


def load_order(name: str) -> Order | None:
    """The study with this name if it published an order; None for the others."""
    data = _read(name)
    if "order" not in data:
        return None
    return Order(
        source=_source(data),
        date=data["date"],
        applies_to=data["applies_to"],
        order=tuple(data["order"]),
        spread=data["fastest_requests_per_s"] / data["slowest_requests_per_s"],
        dh_best=data["dh_best"],
        dh_worst=data["dh_worst"],
        dh_connections=data["dh_connections"],
        dh_seconds=float(data["dh_seconds"]),
    )


def _source(data: Mapping[str, Any]) -> str:
    return f"{data['title']} ({data['date']}): {data['setting']}; {data['method']}"


def _read(name: str) -> dict[str, Any]:
    folder = resources.files("tlslab") / "experiments" / "published"
    known = {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir()}
    if name not in known:
        raise UsageError(f"no published study '{name}'", f"known: {', '.join(sorted(known))}")
    data = tomllib.loads(known[name].read_text("utf-8"))
    if data["schema"] != SCHEMA:
        raise UsageError(f"published/{name}.toml: schema must be {SCHEMA}")
    return data
