"""Made-up cells of the suites study: requests and handshakes of chosen cost."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from tlslab.analysis.compare import Measured
from tlslab.analysis.stats.estimate import estimate
from tlslab.domain.estimates import OPEN_REQUESTS, OPEN_SERVER_COST, SERVER_COST
from tlslab.domain.finding import CellSummary, Summary, Values
from tlslab.domain.names import find_suite
from tlslab.studies.study import Additions
from tlslab.studies.suites import SUITES
from tlslab.studies.suites.words import SENTENCES

STUDY = SUITES.figures()

# Fewer than a bootstrap needs, so that the tests are quick.
BLOCKS = 7

# Microseconds of the server for a request and for a new connection, of the size that nginx has.
REQUEST_US = {"GCM": 20.0, "CCM": 24.0, "CHACHA20": 26.0, "SHA": 30.0}
CONNECTION_US = {"ECDHE-ECDSA": 300.0, "ECDHE-RSA": 800.0, "DHE-RSA": 1500.0, "RSA": 620.0}
DH_US = {1024: 1050.0, 2048: 1500.0, 3072: 2500.0, 4096: 4000.0}


# The sentences take all they need from the values of a finding.
NO_RUN = cast("Summary", None)


def cell(
    openssl: str,
    request_us: float,
    connection_us: float,
    bits: int | str | None = None,
    noise: float = 0.003,
    **changes: object,
) -> Measured:
    """The cell of a suite by OpenSSL's name; `changes` are those of its summary."""
    suite = find_suite(openssl)
    assert suite is not None
    factors = {"tls": "1.2", "suite": suite.name, "http": "2", "dh_bits": str(bits or "none")}
    key = ",".join(f"{name}={level}" for name, level in factors.items())
    draw = np.random.default_rng(sum(key.encode()))
    values: dict[str, Mapping[int, float]] = {}
    for name, centre in (
        (OPEN_REQUESTS, 1e6 / request_us),
        (OPEN_SERVER_COST, request_us),
        (SERVER_COST, connection_us),
    ):
        values[name] = {block: centre * math.exp(draw.normal(0, noise)) for block in range(BLOCKS)}
    summary = CellSummary(
        key=key,
        factors=factors,
        verdict="valid",
        reasons=(),
        trials=BLOCKS,
        estimates={name: estimate(list(v.values()), "") for name, v in values.items()},
    )
    return Measured(replace(summary, **changes), values)  # type: ignore[arg-type]


def request_us(name: str) -> float:
    """What a request with this suite costs the server."""
    return next(cost for part, cost in REQUEST_US.items() if part in name)


def all_cells() -> list[Measured]:
    """All suites of the study and one more, a suite of Diffie-Hellman in all sizes."""
    cells = []
    for name in (*STUDY["order"], "ECDHE-ECDSA-AES128-GCM-SHA256"):
        suite = find_suite(name)
        assert suite is not None
        exchange = suite.name.removeprefix("TLS_").partition("_WITH_")[0].replace("_", "-")
        bits = 2048 if exchange == "DHE-RSA" else None
        cells.append(cell(name, request_us(name), CONNECTION_US[exchange], bits))
    cells += [
        cell("DHE-RSA-AES128-GCM-SHA256", request_us("GCM"), cost, bits)
        for bits, cost in DH_US.items()
        if bits != 2048
    ]
    return cells


def stated(study: Additions, code: str) -> Values:
    """The values of the finding of this code; empty without one."""
    found = [finding.values for finding in study.findings if finding.code == code]
    assert len(found) < 2
    return found[0] if found else {}


def said(study: Additions) -> dict[str, str]:
    """The sentences of the findings, by code; those of one code together."""
    found: dict[str, str] = {}
    for each in study.findings:
        text = SENTENCES[each.code](each.values, each.cells, NO_RUN)
        found[each.code] = f"{found[each.code]}\n{text}" if each.code in found else text
    return found
