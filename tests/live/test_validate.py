"""Compares the tool's times with a packet capture, on real connections."""

import json
import os

import pytest

from live.harness import Tlslab

# Far more than the error of any phase on a busy machine, and far less than the 50 ms of work before
# the response.
LOOSE_US = 25_000


# The capture must lose no packet.
@pytest.mark.alone
@pytest.mark.parametrize("backend", ["rustls", "openssl"])
def test_every_completed_connection_is_in_the_capture(tlslab: Tlslab, backend: str) -> None:
    quick = ["--rates", "500", "--seconds", "1", "--pause-ms", "50"]
    ended = tlslab.run("validate", *quick, "--backend", backend, "--json")
    validation = json.loads(ended.out)
    assert validation["backend"] == backend
    (rate,) = validation["rates"]
    assert rate["completed"] >= 500
    assert (rate["matched"], rate["missing"], rate["dropped"]) == (rate["completed"], 0, 0)
    assert ended.code == (0 if validation["passed"] else 1)
    phases = {phase["phase"]: phase for phase in rate["phases"]}
    assert list(phases) == ["connect", "handshake", "first_byte", "close"]
    for phase in phases.values():
        assert phase["n"] > 0.9 * rate["completed"]
        median = phase["comparisons"][0]
        assert abs(median["tool_ms"] - median["capture_ms"]) * 1000 < LOOSE_US
    for name in ("first_byte", "close"):
        assert phases[name]["comparisons"][0]["capture_ms"] >= 50


def test_without_the_right_to_capture_it_says_what_to_do(tlslab: Tlslab) -> None:
    drop = ["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw", "--"]
    prefix = drop if os.geteuid() == 0 else []
    ended = tlslab.run("validate", "--rates", "50", "--seconds", "1", prefix=prefix)
    assert ended.code == 3
    assert "tcpdump does not capture" in ended.err
    assert "cap_net_raw" in ended.err


def test_rates_that_are_none_are_refused(tlslab: Tlslab) -> None:
    ended = tlslab.run("validate", "--rates", "fast")
    assert (ended.code, len(ended.errors)) == (2, 1)
