"""`make bench-profile`: the split of the processor time of `tlslab-load` in a cell, by perf.

The first cell with the argument in its name, or the first of all; the lean client where the cell
has one. The profile covers the whole process, including its start.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.table import Table

from bench.cells import Cell, cells
from bench.child import PROCESSOR
from bench.results import console
from bench.server import serving
from tlslab.domain.errors import CannotRunError, TlslabError
from tlslab.servers.base import pinned

SECONDS = 5.0

# A prime number of samples per second, out of step with anything periodic.
FREQUENCY = 2_999

SHOWN_SYMBOLS = 25

KERNEL = "[kernel.kallsyms]"

# The first pattern found in a symbol names its group; the kernel has its own patterns.
KERNEL_GROUPS = (
    (
        "kernel: TCP, IP, sockets",
        r"tcp|skb|sock|inet|sk_|ip_|_ip|fib|dst_|neigh|netif|net_rx|loopback|napi|dev_|bbr|"
        r"nf_|xmit|csum|send|recv|copy_(to|from)|datagram|softirq|local_bh|bpf",
    ),
    ("kernel: files and epoll", r"^ep_|epoll|eventpoll|fd|file|fput|dentry|inode|poll"),
    ("kernel: memory", r"page|slab|kmem|kmalloc|kfree|memcg|obj_stock|folio|mmap|vma|fault|xas_"),
)
KERNEL_REST = "kernel: scheduling, timers, rest"
GROUPS = (
    ("X25519", r"(?i)25519"),
    ("ECDSA P-256 (sampled)", r"(?i)ecp_|p256|ecdsa|nistz"),
    ("SHA-256, HMAC, HKDF", r"(?i)sha256|sha2|hmac|hkdf|EVP_MD|Digest"),
    ("AES-128-GCM", r"(?i)aes|gcm|ghash|aead"),
    ("random numbers", r"(?i)rand|drbg|getentropy"),
    ("allocator", r"mi_|malloc|calloc|realloc|cfree|^free|_int_free|alloc::alloc"),
    ("copying and clearing", r"mem(move|cpy|set|cmp)|cleanse"),
    ("the engine", r"tlslab|hdrhistogram|httparse|mio::"),
    ("rustls", r"rustls|webpki"),
    ("aws-lc, rest", r"aws_lc"),
)
REST = "everything else"

Line = tuple[float, str, str]


def main(arguments: Sequence[str]) -> int:
    """Records, and prints the groups and the largest symbols; returns the exit code."""
    try:
        cell = _chosen(" ".join(arguments))
        lines = list(parse(_record(cell)))
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    table = Table(
        title=f"{cell.name}, {cell.ours[0].name}: processor time", title_justify="left", box=SIMPLE
    )
    table.add_column("where")
    table.add_column("share", justify="right")
    for group, share in grouped(lines).items():
        table.add_row(group, f"{share:.1f} %")
    console.print(table)
    for share, program, symbol in lines[:SHOWN_SYMBOLS]:
        console.print(f"{share:6.2f} %  {program:<20} {symbol[:80]}", markup=False)
    return 0


def parse(report: str) -> Iterable[Line]:
    """Share in per cent, program or library, and symbol of each line of perf's report."""
    for line in report.splitlines():
        found = re.match(r"\s*([\d.]+)%\s*;(.*?)\s*;\[.\] (.*?)\s*$", line)
        if found:
            yield float(found[1]), found[2], found[3]


def grouped(lines: Iterable[Line]) -> dict[str, float]:
    """The share of each group, the largest first."""
    shares: dict[str, float] = {}
    for share, program, symbol in lines:
        group = group_of(program, symbol)
        shares[group] = shares.get(group, 0.0) + share
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def group_of(program: str, symbol: str) -> str:
    """The group of a symbol."""
    groups, rest = (KERNEL_GROUPS, KERNEL_REST) if program == KERNEL else (GROUPS, REST)
    return next((name for name, pattern in groups if re.search(pattern, symbol)), rest)


def _chosen(part: str) -> Cell:
    """The first cell with this in its name. Raises CannotRunError."""
    found = next((cell for cell in cells() if part in cell.name), None)
    if found is None:
        raise CannotRunError(f"no cell has '{part}' in its name")
    return found


def _record(cell: Cell) -> str:
    """Loads under perf; returns its report, one symbol per line. Raises CannotRunError."""
    if shutil.which("perf") is None:
        raise CannotRunError("perf is not installed", "run scripts/install-debian.sh bench")
    with (
        tempfile.TemporaryDirectory(prefix="tlslab-bench-") as folder,
        serving(Path(folder), cell.page) as server,
    ):
        data = str(Path(folder) / "perf.data")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(FREQUENCY), "-o", data]
        load = cell.ours[0].command(server, SECONDS, 0)
        command = pinned([*record, "--", *load], [PROCESSOR], "TERM")
        _call(command, SECONDS + 30)
        fields = ["-F", "overhead,dso,symbol", "-t", ";"]
        return _call(["perf", "report", "-i", data, "--stdio", *fields], 120)


def _call(command: list[str], seconds: float) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode != 0:
        words = done.stderr.strip()[-400:]
        remedy = "perf needs root, or kernel.perf_event_paranoid at 1 or less"
        raise CannotRunError(f"perf ended with code {done.returncode}: {words}", remedy)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
