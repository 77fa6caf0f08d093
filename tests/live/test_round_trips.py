"""Computed times to the first byte, held against a path with a real delay."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from live import delay
from live.hosts import Hosts, NamespaceHost, lacking
from tlslab.analysis.round_trips import FirstByte, Kind, first_byte
from tlslab.contract.record import RunRecord
from tlslab.domain.codec import from_json
from tlslab.servers.certificates import Authority
from tlslab.servers.programs import require_program

OBSTACLE = lacking() or delay.lacking()

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.alone,
    pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE)),
]

ROUND_TRIP_MS = 40

# Of the delay that a path adds, the largest error of the computed time.
MOST = 0.1

EARLY = "early data"

CONNECTIONS = 12

PORT = 4433
START_S = 30

# Options of a client; the kind of its connections, and their round trips. The reference server
# answers early data only after the client's Finished: a round trip more.
CLIENTS: dict[str, tuple[list[str], Kind, int]] = {
    "TLS 1.2": (["--tls", "1.2"], "full", 4),
    "TLS 1.2, resumed": (["--tls", "1.2", "--resume", "id"], "resumed", 3),
    "TLS 1.3": (["--tls", "1.3"], "full", 3),
    "TLS 1.3 by OpenSSL": (["--tls", "1.3", "--backend", "openssl"], "full", 3),
    "TLS 1.3, resumed": (["--tls", "1.3", "--resume", "psk"], "resumed", 3),
    EARLY: (["--tls", "1.3", "--resume", "psk", "--early-data"], "resumed", 2),
    "HelloRetryRequest": (["--tls", "1.3", "--hello-retry"], "full", 4),
}

# Some 18 bytes each in the certificate: a flight of 20 kB, more than the first window.
MANY_ADDRESSES = [f"2001:db8::{number:x}" for number in range(1, 1101)]


@contextmanager
def serving(host: NamespaceHost, *options: str) -> Iterator[None]:
    """The reference server on all addresses of a host."""
    program = require_program("tlslab-serve")
    server = host.start(program, "--listen", f"0.0.0.0:{PORT}", *options)
    try:
        deadline = time.monotonic() + START_S
        while '"ready"' not in host.said(server):
            assert server.poll() is None, host.said(server)
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield
    finally:
        for process in host.named("tlslab-serve"):
            process.kill()
        server.wait(START_S)


def measured(host: NamespaceHost, address: str, *options: str) -> RunRecord:
    """The record of a few connections, one at a time."""
    command = [require_program("tlslab-load"), "--json", "--insecure", "-c", "1"]
    command += [
        "-n",
        str(CONNECTIONS),
        "--allow",
        address,
        *options,
        f"https://{address}:{PORT}/bytes/100",
    ]
    done = subprocess.run(
        [*host.enter(), *command], capture_output=True, text=True, timeout=60, check=False
    )
    record = from_json(json.loads(done.stdout), RunRecord)
    assert record.outcomes.completed == CONNECTIONS, record.outcomes
    return record


def waits(record: RunRecord, kind: Kind) -> FirstByte:
    """The wait of a record's connections, with the smallest times in place of the means.

    On a busy machine packets and programs wait longer, which only adds.
    """
    least = {name: replace(each, mean_ms=each.min_ms) for name, each in record.summaries.items()}
    found = first_byte([replace(record, summaries=least)], kind)
    assert found is not None
    return found


def assert_computed(client: NamespaceHost, server: NamespaceHost, far: str, name: str) -> FirstByte:
    """Compares a measured time to the first byte with the one computed from loopback."""
    options, kind, round_trips = CLIENTS[name]
    near = waits(measured(server, "127.0.0.1", *options), kind)
    held_back = int(name == EARLY)
    there = waits(measured(client, far, *options), kind)
    assert near.round_trips == there.round_trips == round_trips
    computed_ms = near.ms_at(ROUND_TRIP_MS) + held_back * ROUND_TRIP_MS
    measured_ms = there.loopback_ms
    added_ms = computed_ms - near.loopback_ms
    assert abs(measured_ms - computed_ms) <= MOST * added_ms, (name, measured_ms, computed_ms)
    return near


@pytest.mark.timeout(120)
def test_the_computed_time_is_that_of_a_path_with_that_delay(tmp_path: Path) -> None:
    with Hosts(tmp_path) as hosts:
        client, server = hosts.add("client"), hosts.add("server")
        ways = [word for way in ("id", "psk") for word in ("--resumption", way)]
        with (
            delay.delayed(client, server, ROUND_TRIP_MS / 1000) as far,
            serving(server, *ways, "--early-data", "4096"),
        ):
            for name in CLIENTS:
                assert assert_computed(client, server, far, name).of_window == 0


@pytest.mark.timeout(120)
def test_a_chain_beyond_the_first_window_takes_one_round_trip_more(tmp_path: Path) -> None:
    leaf = Authority(tmp_path, MANY_ADDRESSES).issue("ecdsa-p256")
    pair = ("--cert", str(leaf.certificate), "--key", str(leaf.key))
    with Hosts(tmp_path) as hosts:
        client, server = hosts.add("client"), hosts.add("server")
        with (
            delay.delayed(client, server, ROUND_TRIP_MS / 1000) as far,
            serving(server, *pair),
        ):
            for name in ("TLS 1.2", "TLS 1.3"):
                assert assert_computed(client, server, far, name).of_window == 1
