"""Finds the address of a Ray cluster, and connects to it."""

import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import ray

from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.lab.generators.cluster.authentication import is_loopback, require_token

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
