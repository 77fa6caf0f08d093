"""The addresses that a run's connections went to, by the server that was to be loaded. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from tlslab.contract.record import RunRecord
from tlslab.domain.finding import Finding
from tlslab.domain.trial import Trial


def several_addresses(trials: Sequence[Trial]) -> Iterator[Finding]:
    """A finding for each server whose name did not lead to the same address in all runs.

    Each run of the engine resolves the name anew, and takes the first address that answers.
    """
    found: dict[str, Counter[str]] = {}
    for trial in trials:
        for run in trial.runs.values():
            address = _host(run.record.address)
            found.setdefault(_wanted(run.record), Counter())[address] += 1
    for name, addresses in found.items():
        if len(addresses) > 1:
            values = {"name": name, "runs": dict(addresses.most_common())}
            yield Finding("several_addresses", values=values)


def _wanted(record: RunRecord) -> str:
    """Host and port to connect to, as the specification names them."""
    spec = record.spec
    return str(spec.get("connect_to") or urlsplit(str(spec.get("url", ""))).netloc)


def _host(address: str) -> str:
    """The host of `HOST:PORT`; that of an IPv6 address without its brackets."""
    return urlsplit(f"//{address}").hostname or address
