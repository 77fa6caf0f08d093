"""The cells of the bench: what is loaded, by whom, and what is required. A cell is a row here.

A cell has one server, and generators that do the same work on it. Rivals are the generators that
Debian has, on the system's OpenSSL. Bars are for the ratio of the best rival's processor time to
ours.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bench.generators import (
    Generator,
    ab,
    before,
    h2load,
    h2load_kept,
    httperf,
    s_time,
    tlslab,
    wrk,
)
from bench.server import GROUP, SUITE, Page
from tlslab.domain.errors import CannotRunError

LEAN, FULL, DEFAULT = "tlslab-load --lean", "tlslab-load", "tlslab-load, no options"

# What nginx logs of each request before the measurement. It writes a dot for a full handshake, an r
# for a resumed one; the first request of a connection has number 1.
FACTS = (
    "$ssl_session_reused $ssl_protocol $ssl_cipher $ssl_curve "
    "$server_protocol $connection_requests $status"
)

OLD_SUITE = "ECDHE-ECDSA-AES128-GCM-SHA256"
HYBRID = "X25519MLKEM768"

# The flags of a connection of TLS 1.3, and of TLS 1.2.
NEW = ("--tls", "1.3", "--group", GROUP, "--suite", SUITE)
OLD = ("--tls", "1.2", "--group", GROUP, "--suite", OLD_SUITE)

# An earlier build of tlslab-load, measured beside today's in the same blocks.
BEFORE = os.environ.get("BENCH_BEFORE")


@dataclass(frozen=True)
class Cell:
    """One cell. `lines` is the pattern of the server's log lines of the work that is compared.

    `bars`: how many times ours the best rival needs, by our generator; `limit`: how far the first
    of ours may be above the limit. The share of `other` lines is that of the full handshakes that
    collect sessions. `counted`: the connections or requests whose instructions are counted; the
    library makes one connection in 128.
    """

    name: str
    page: Page
    generators: Sequence[Generator]
    lines: str
    unit: str = "connection"
    streams: int = 1
    other: float = 0.0
    counted: int = 512
    bars: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None

    @property
    def ours(self) -> list[Generator]:
        """Ways to run tlslab-load."""
        return [one for one in self.generators if one.ours]

    @property
    def rivals(self) -> list[Generator]:
        """Other programs."""
        return [one for one in self.generators if not one.ours and one.build_of is None]

    def is_as_meant(self, line: str) -> bool:
        """Whether a line of the server's log is of the work that is compared."""
        return re.fullmatch(self.lines, line) is not None


def _pair(connections: int, *flags: str) -> list[Generator]:
    """The lean and the full client."""
    lean = tlslab(LEAN, connections, ["--lean", *flags])
    return [lean, tlslab(FULL, connections, flags)]


def cells() -> list[Cell]:
    """All cells. Raises CannotRunError if tlslab-load or the earlier build is missing."""
    found = [*_full(), *_resumed(), *_kept()]
    if BEFORE is None:
        return found
    if shutil.which(BEFORE) is None:
        raise CannotRunError(f"BENCH_BEFORE is no program: {BEFORE}")
    return [
        replace(cell, generators=[*cell.generators, *(before(one, BEFORE) for one in cell.ours)])
        for cell in found
    ]


def _full() -> list[Cell]:
    full_13 = _line("1.3", SUITE)
    every = [ab(50, "TLS1.3"), wrk(50), h2load(50), httperf(), s_time()]
    old_page = Page(2048, tls="1.2", suite=OLD_SUITE)
    full_12 = _line("1.2", OLD_SUITE)
    return [
        Cell(
            "TLS 1.3, ECDSA",
            Page(2048),
            [*_pair(50, *NEW), *every],
            full_13,
            bars={LEAN: 5.0, FULL: 3.0},
            limit=1.7,
        ),
        Cell(
            "TLS 1.3, RSA-2048",
            Page(2048, key="rsa-2048"),
            [*_pair(50, *NEW), ab(50, "TLS1.3"), wrk(50)],
            full_13,
        ),
        Cell("TLS 1.2, ECDSA", old_page, [*_pair(50, *OLD), ab(50, "TLS1.2"), wrk(50)], full_12),
        Cell(
            f"TLS 1.3, {HYBRID}",
            Page(2048, group=HYBRID, own=True),
            [
                *_pair(50, "--tls", "1.3", "--group", HYBRID, "--suite", SUITE),
                tlslab(DEFAULT, 50, []),
            ],
            "",
        ),
    ]


def _line(tls: str, suite: str, is_resumed: bool = False) -> str:
    """The pattern of a log line: a new connection's only request, answered with 200."""
    kind, version = "r" if is_resumed else r"\.", re.escape(tls)
    return rf"{kind} TLSv{version} {suite} {GROUP} HTTP/1\.[01] 1 200"


def _resumed() -> list[Cell]:
    return [
        Cell(
            "TLS 1.3, resumed",
            Page(2048, resumes=True),
            [*_pair(50, "--resume", "psk", *NEW), wrk(50)],
            _line("1.3", SUITE, is_resumed=True),
            other=0.2,
        ),
        Cell(
            "TLS 1.2, resumed by ticket",
            Page(2048, tls="1.2", suite=OLD_SUITE, resumes=True),
            [*_pair(50, "--resume", "ticket", *OLD), wrk(50)],
            _line("1.2", OLD_SUITE, is_resumed=True),
            other=0.2,
        ),
    ]


def _kept() -> list[Cell]:
    kept = rf". TLSv1\.3 {SUITE} {GROUP} HTTP/%s \d+ 200"
    return [
        Cell(
            "kept, HTTP/1.1, 4 KiB",
            Page(4096, http2=True),
            [
                tlslab(FULL, 128, ["--http", "1.1", *NEW], kept=True),
                wrk(128, kept=True),
                h2load_kept(128, "--h1"),
            ],
            kept % r"1\.1",
            unit="request",
            counted=5120,
            bars={FULL: 1.3},
        ),
        Cell(
            "kept, HTTP/2, 4 KiB, 16 x 8 streams",
            Page(4096, http2=True),
            [
                tlslab(FULL, 16, ["--http", "2", "--streams", "8", *NEW], kept=True),
                h2load_kept(16, "-m8"),
            ],
            kept % r"2\.0",
            unit="request",
            streams=8,
            counted=5120,
            bars={FULL: 1.3},
        ),
        Cell(
            "kept, HTTP/1.1, 1 MiB",
            Page(1 << 20),
            [tlslab(FULL, 16, ["--http", "1.1", *NEW], kept=True), wrk(16, kept=True)],
            kept % r"1\.1",
            unit="request",
            counted=64,
        ),
    ]
