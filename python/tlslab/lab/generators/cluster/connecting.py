"""The way into a Ray cluster: its address, its authentication, and the connection."""

import ipaddress
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import ray

from tlslab.model.errors import CannotRunError, UsageError

# `ray start --head` listens there for nodes and drivers.
PORT = 6379

# Ray's proxy for drivers beyond the cluster.
CLIENT_PORT = 10001

REACH_S = 5.0

TOKEN = (
    "on every node: the same token in ~/.ray/auth_token (`ray get-auth-token --generate`), and "
    "RAY_AUTH_MODE=token in the environment of `ray start` and of `tlslab`"
)


def connect(address: str) -> None:
    """Joins the cluster as a driver on one of its nodes. Raises UsageError and CannotRunError."""
    place = gcs_address(address)
    if place != "auto":
        require_token(place)
        _reach(place)
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
        return "auto"
    parts = urlsplit(text if "://" in text else f"ray://{text}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme != "ray" or not host or parts.path.strip("/"):
        raise UsageError(f"--generators {text}: no address of a Ray cluster", "ray://HOST:6379")
    if port == CLIENT_PORT:
        raise UsageError(
            f"--generators {text}: {CLIENT_PORT} is the port of Ray's proxy for other machines",
            f"give the cluster's own, ray://{host}:{PORT}: the lab runs on one of its nodes",
        )
    return f"{f'[{host}]' if ':' in host else host}:{port or PORT}"


def require_token(place: str) -> None:
    """Refuses a cluster beyond loopback without authentication. Raises UsageError.

    Whoever reaches such a cluster may run programs on all of its nodes.
    """
    if is_loopback(place) or os.environ.get("RAY_AUTH_MODE") == "token":
        return
    raise UsageError(f"the Ray cluster {place} is refused without token authentication", TOKEN)


def is_loopback(place: str) -> bool:
    """Whether only this machine can reach `HOST:PORT`."""
    host = place.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reach(place: str) -> None:
    """Ray itself would try for a minute. Raises CannotRunError."""
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
    """Ray takes SIGTERM for itself; the lab has its own way to end."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
