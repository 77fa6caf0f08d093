"""A packet capture beside a run: tcpdump as a child of the lab."""

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlslab.domain.errors import CannotRunError
from tlslab.servers.base import pinned

START_S = 10.0
STOP_S = 30.0

# The length that covers headers with all options; of the payload only the length matters.
SNAPLEN = "128"

# The kernel's buffer in KiB: seconds of the highest rate, in case tcpdump has to wait.
BUFFER_KIB = "131072"

# The kernel passes packets to tcpdump after a second at most, however few they are.
SETTLE_S = 1.5


@dataclass
class Capture:
    """A capture's file, and the number of packets that the kernel dropped, known after its end."""

    path: Path
    dropped: int = 0


@contextmanager
def capturing(
    folder: Path, interface: str, port: int, processors: tuple[int, ...]
) -> Iterator[Capture]:
    """Captures all packets from and to a TCP port for the duration of the block.

    Raises CannotRunError if there is no tcpdump or if it has no permission to capture.
    """
    program = shutil.which("tcpdump") or shutil.which("tcpdump", path="/usr/sbin:/usr/bin")
    if program is None:
        raise CannotRunError("tcpdump is not installed", "apt-get install tcpdump")
    capture = Capture(folder / "capture.pcap")
    words = folder / "tcpdump.log"
    command = [program, "-i", interface, "-w", str(capture.path), "-n", "-B", BUFFER_KIB]
    command += ["-s", SNAPLEN, "--time-stamp-precision=nano", "-Z", "root", f"tcp port {port}"]
    with words.open("wb") as errors:
        child = subprocess.Popen(
            pinned(command, processors, "KILL"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    try:
        _wait_for_start(child, words)
        yield capture
        time.sleep(SETTLE_S)
        child.send_signal(signal.SIGINT)
        child.wait(STOP_S)
        capture.dropped = _dropped(words.read_text("utf-8", "replace"))
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def _wait_for_start(child: subprocess.Popen[bytes], words: Path) -> None:
    deadline = time.monotonic() + START_S
    while b"listening on" not in words.read_bytes():
        if child.poll() is not None or time.monotonic() > deadline:
            said = " ".join(words.read_text("utf-8", "replace").split())[:300]
            raise CannotRunError(
                f"tcpdump does not capture: {said or 'it said nothing'}",
                "run as root, or let tcpdump capture: setcap cap_net_raw+ep $(which tcpdump)",
            )
        time.sleep(0.02)


def _dropped(words: str) -> int:
    """The number of dropped packets, from tcpdump's last lines.

    Raises CannotRunError without them.
    """
    counts = re.findall(r"^(\d+) packets? dropped by (?:kernel|interface)", words, re.MULTILINE)
    if not counts:
        raise CannotRunError(f"tcpdump did not say what it lost: {' '.join(words.split())[:300]}")
    return sum(map(int, counts))
