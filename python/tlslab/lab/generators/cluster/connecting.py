"""Finds the address of a Ray cluster, and connects to it."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import ray

from tlslab.domain.errors import CannotRunError, UsageError

REMEDY = (
    "on every node: the same token in ~/.ray/auth_token (`ray get-auth-token --generate` makes "
    "one), and RAY_AUTH_MODE=token in the environment of `ray start` and of `tlslab`"
)

KNOCK_S = 20.0

LOOPBACK = ("127.0.0.1", "::1")

# Tests the cluster's reaction to a program without the token, or with this machine's. The program
# is a separate process, because Ray reads its environment only once.
_KNOCK = """
import sys
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1])
except AuthenticationError:
    sys.exit(7)
"""
_REFUSED = 7


def require_token(place: str) -> None:
    """Refuses the cluster at `HOST:PORT` unless it requires a token and accepts this machine's.

    Raises UsageError, and CannotRunError if that cannot be determined.
    """
    if os.environ.get("RAY_AUTH_MODE") != "token":
        raise UsageError(f"the Ray cluster {place} is refused without token authentication", REMEDY)
    own, none = (_knock(place, {}), _knock(place, {"RAY_AUTH_MODE": "disabled"}))
    if _let_in(place, none):
        raise UsageError(f"the Ray cluster {place} is refused: it asks for no token", REMEDY)
    if not _let_in(place, own):
        raise UsageError(f"the Ray cluster {place} does not take the token of this machine", REMEDY)


def is_loopback(place: str) -> bool:
    """Whether a node at an address, or at `HOST:PORT`, is within reach of this machine only.

    Ray listens on loopback alone if the node's address is one of LOOPBACK, and on all addresses if
    it is any other, even 127.0.0.2.
    """
    host = place.rpartition(":")[0] if place.count(":") == 1 or "]:" in place else place
    return host.strip("[]") in LOOPBACK


def _knock(place: str, variables: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _KNOCK, place],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _let_in(place: str, child: subprocess.Popen[str]) -> bool:
    try:
        words = child.communicate(timeout=KNOCK_S)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        words = child.communicate()[1] or f"no answer within {KNOCK_S:.0f} s"
    if child.returncode in (0, _REFUSED):
        return child.returncode == 0
    last = (words.strip().splitlines() or ["it said nothing"])[-1]
    raise CannotRunError(f"the Ray cluster {place} cannot be asked for its authentication: {last}")


# The port on which `ray start --head` listens for nodes and drivers.
PORT = 6379

# Ray's proxy for drivers beyond the cluster.
CLIENT_PORT = 10001

REACH_S = 5.0

# The file that `ray start` writes and `ray.init(address="auto")` reads.
CURRENT = Path("/tmp/ray/ray_current_cluster")


def connect(address: str) -> None:
    """Joins the cluster as a driver on one of its nodes. Raises UsageError and CannotRunError."""
    place = gcs_address(address)
    reachable = place != "auto" and not is_loopback(place)
    if place != "auto":
        _reach(place)
    if reachable:
        require_token(place)
    with _own_signals():
        try:
            ray.init(
                address=place,
                namespace="tlslab",
                configure_logging=False,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
            )
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise CannotRunError(
                f"no way into the Ray cluster {place}: {' '.join(str(error).split())[:300]}",
                "the lab runs on a node of the cluster: `ray start --address=HOST:PORT` makes this "
                "machine one",
            ) from None
    try:
        # A cluster that was named by a loopback address, or found, may have other addresses as
        # well.
        if not reachable and not all(is_loopback(n["NodeManagerAddress"]) for n in ray.nodes()):
            require_token(ray.get_runtime_context().gcs_address)
    except BaseException:
        disconnect()
        raise


def disconnect() -> None:
    """Leaves the cluster; Ray then ends what this driver started there."""
    with _own_signals():
        ray.shutdown()


def gcs_address(text: str) -> str:
    """`HOST:PORT` of a cluster's head, or `auto`, from `ray://HOST[:PORT]`, `HOST[:PORT]`, `auto`.

    Raises UsageError.
    """
    if text in ("", "auto"):
        return _found()
    parts = urlsplit(text if "://" in text else f"ray://{text}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme != "ray" or not host or parts.path.strip("/") or {",", " "} & set(host):
        raise UsageError(f"--generators {text}: no address of a Ray cluster", "ray://HOST:6379")
    if port == CLIENT_PORT:
        raise UsageError(
            f"--generators {text}: {CLIENT_PORT} is the port of Ray's proxy for other machines",
            f"give the cluster's own, ray://{host}:{PORT}: the lab runs on one of its nodes",
        )
    return f"{f'[{host}]' if ':' in host else host}:{port or PORT}"


def _found() -> str:
    """The cluster of this machine's node, if Ray has recorded it; else Ray may search."""
    try:
        return CURRENT.read_text("ascii").strip() or "auto"
    except (OSError, UnicodeDecodeError):
        return "auto"


def _reach(place: str) -> None:
    """Checks that the cluster answers: Ray itself would try for a minute. Raises CannotRunError."""
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_S).close()
    except OSError as error:
        raise CannotRunError(
            f"no Ray cluster answers at {place}: {error.strerror or error}",
            f"`ray start --head --port={port}` there starts one",
        ) from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keeps the lab's signal handlers: Ray would take SIGTERM for itself in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
