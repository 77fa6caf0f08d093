"""What servers accept, as CSV: a line for each accepted item."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from tlslab.contract.probe import AcceptedItems, AcceptedSuites, Chain, Named, ProbeRecord
from tlslab.report.csv import Value, csv_text

_COLUMNS = (
    "host", "kind", "version", "name", "code_point", "order", "bits", "group", "key", "issuer",
    "not_before", "not_after", "trust", "message",
)  # fmt: skip


def probe_csv(found: Iterable[tuple[str, ProbeRecord | str]]) -> str:
    """The accepted items of each host; in place of a record, why the host could not be probed."""
    return csv_text(_lines(found))


def _lines(found: Iterable[tuple[str, ProbeRecord | str]]) -> Iterator[tuple[Value, ...]]:
    yield _COLUMNS
    for host, record in found:
        for item in _items(record):
            yield tuple({"host": host, **item}.get(column) for column in _COLUMNS)


def _items(record: ProbeRecord | str) -> Iterator[Mapping[str, Value]]:
    if isinstance(record, str):
        yield {"kind": "error", "message": record}
        return
    for found in record.versions:
        if found.accepted:
            yield {"kind": "version", "version": found.version, "name": found.version}
    for suites in record.suites:
        for suite in suites.accepted:
            more = {"bits": suite.bits, "group": suite.group}
            yield {**_item("suite", suites, suite), **more}
    for groups in record.groups:
        yield from (_item("group", groups, group) for group in groups.accepted)
    for schemes in record.signature_schemes:
        yield from (_item("scheme", schemes, scheme) for scheme in schemes.accepted)
    yield from map(_certificate, record.certificates)


def _item(kind: str, listed: AcceptedSuites | AcceptedItems, item: Named) -> dict[str, Value]:
    return {
        "kind": kind,
        "version": listed.version,
        "name": item.name,
        "code_point": item.code_point,
        "order": listed.order,
    }


def _certificate(chain: Chain) -> dict[str, Value]:
    verdict = chain.verdict
    return {
        "kind": "certificate",
        "version": " ".join(chain.versions),
        "name": chain.subject,
        "key": chain.key,
        "issuer": chain.issuer,
        "not_before": _day(chain.not_before),
        "not_after": _day(chain.not_after),
        "trust": None if verdict is None else verdict.code,
        "message": None if verdict is None else verdict.message,
    }


def _day(seconds: int) -> str:
    """The day of an instant in seconds since 1970; the seconds if no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return str(seconds)
