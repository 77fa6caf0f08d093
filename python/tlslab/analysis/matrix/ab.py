"""ApacheBench's block: everything that it prints, over all capacity runs of a cell."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from tlslab.analysis.stats.latency import times
from tlslab.contract.record import RunRecord
from tlslab.domain.distribution import Distribution
from tlslab.domain.finding import AbBlock, TimesRow
from tlslab.domain.names import find_group, find_suite
from tlslab.domain.run_record import failures, mismatches
from tlslab.domain.trial import Trial

# ab's names for the record's histograms.
ROWS = {
    "connect": "established",
    "processing": "exchange",
    "waiting": "first_byte",
    "total": "service",
}

# ab prints the size of a certificate's key in bits.
_KEY_BITS = {"Ed25519": 256, "Ed448": 456}


def ab_block(trials: Sequence[Trial]) -> AbBlock | None:
    """The block; None when no connection completed."""
    runs = [run.record for trial in trials if (run := trial.runs.get("capacity")) is not None]
    complete = sum(record.outcomes.completed for record in runs)
    seconds = sum(record.seconds for record in runs)
    if not complete or seconds <= 0:
        return None
    first = runs[0]
    facts, certificate = first.preflight.facts, first.preflight.certificate
    suite = find_suite(facts.suite)
    group = find_group(facts.group) if facts.group else None
    host, port = _address(first.address)
    connections = int(first.spec.get("connections", 1))
    received = sum(record.bytes.received for record in runs)
    return AbBlock(
        server_software=first.preflight.server or "",
        host=host,
        port=port,
        tls=f"TLSv{facts.tls}",
        suite=suite.openssl if suite else facts.suite,
        server_key=certificate.key if certificate else "",
        server_key_bits=_key_bits(certificate.key) if certificate else None,
        cipher_bits=suite.bits if suite else None,
        temporary_key=facts.group,
        temporary_key_bits=group.bits if group else None,
        server_name=_server_name(first),
        path=_path(first),
        document_bytes=first.preflight.body_bytes or 0,
        concurrency=connections,
        seconds=seconds,
        complete=complete,
        failed=sum(failures(run.outcomes) + mismatches(run.outcomes) for run in runs),
        non_2xx=sum(record.outcomes.failed.get("http_status", 0) for record in runs),
        total_bytes=received,
        html_bytes=sum(record.bytes.body for record in runs),
        requests_per_s=sum(record.requests for record in runs) / seconds,
        ms_per_request=connections * seconds * 1000 / complete,
        ms_per_request_across=seconds * 1000 / complete,
        transfer_kib_per_s=received / 1024 / seconds,
        times=_rows(trials),
    )


def _rows(trials: Sequence[Trial]) -> dict[str, TimesRow]:
    rows = {}
    for row, histogram in ROWS.items():
        merged = Distribution.merge(times(trials, histogram, whole=True))
        if merged.n:
            rows[row] = TimesRow(
                min_ms=float(merged.values[0]),
                mean_ms=merged.mean(),
                sd_ms=merged.sd(),
                median_ms=merged.quantile(0.5),
                max_ms=float(merged.values[-1]),
            )
    return rows


def _address(address: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:443` or `[::1]:443`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port) if port.isdigit() else 0


def _key_bits(key: str) -> int | None:
    """The bits in `ECDSA P-256`, `RSA-2048`, `Ed25519`."""
    found = re.search(r"-(\d+)$", key)
    return int(found[1]) if found else _KEY_BITS.get(key)


def _server_name(record: RunRecord) -> str:
    asked = record.spec.get("tls", {}).get("server_name")
    return str(asked or urlsplit(str(record.spec.get("url", ""))).hostname or "")


def _path(record: RunRecord) -> str:
    parts = urlsplit(str(record.spec.get("url", "")))
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
