"""Published figures: dated data files in `experiments/published`, used as ratios only."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from tlslab.model.errors import UsageError
from tlslab.model.finding import Published

SCHEMA = "tlslab.published/1"

# The estimates that a study's requests per second on new connections stand beside. The second one
# counts the work of both sides, as does a study whose client and server share one host.
ESTIMATES = ("connections_per_s", "connections_per_cpu_s")


@dataclass(frozen=True)
class Study:
    """A study's requests per second by group, and the cells that they may stand beside."""

    source: str
    baseline: str
    applies_to: Mapping[str, str]
    requests_per_s: Mapping[str, float]

    def beside(self, candidate: Mapping[str, str], baseline: Mapping[str, str]) -> Published | None:
        """The ratio that the study found between two cells with these factors, if it did."""
        if any(candidate.get(name) != level for name, level in self.applies_to.items()):
            return None
        rate = self.requests_per_s.get(candidate.get("group", ""))
        if rate is None or baseline.get("group") != self.baseline:
            return None
        return Published(rate / self.requests_per_s[self.baseline], self.source)


def load_study(name: str) -> Study:
    """The study of that name. Raises UsageError when tlslab does not ship it."""
    folder = resources.files("tlslab") / "experiments" / "published"
    known = {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir()}
    if name not in known:
        raise UsageError(f"no published study '{name}'", f"known: {', '.join(sorted(known))}")
    data = tomllib.loads(known[name].read_text("utf-8"))
    if data["schema"] != SCHEMA:
        raise UsageError(f"published/{name}.toml: schema must be {SCHEMA}")
    return Study(
        source=f"{data['title']} ({data['date']}): {data['setting']}; {data['method']}",
        baseline=data["baseline"]["group"],
        applies_to=data["applies_to"],
        requests_per_s={row["group"]: row["requests_per_s"] for row in data["row"]},
    )
