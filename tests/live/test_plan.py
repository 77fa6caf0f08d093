"""`tlslab run calibrate` and `tlslab plan` on a real server."""

import json
import re
from pathlib import Path

import pytest

from live.harness import Tlslab, assert_finished, trials

BLOCKS = 6
BRIEF = ("--quick", "--blocks", str(BLOCKS), "--seconds", "0.3")


@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_a_load_is_planned_with_measured_costs(tlslab: Tlslab, target: str, tmp_path: Path) -> None:
    ended = tlslab.run("run", "calibrate", *BRIEF, "--target", target, "--out", "runs/c")
    assert_finished(ended, tmp_path / "runs" / "c")
    done = [json.loads(line) for line in trials(tmp_path / "runs" / "c")]
    assert all(list(trial["runs"]) == ["capacity"] for trial in done)
    for trial in done:
        record, factors = trial["runs"]["capacity"]["record"], trial["factors"]
        assert record["preflight"]["body_bytes"] == int(factors["document_bytes"])
        resumed = sum(f["count"] for f in record["facts"] if f["kind"] == "resumed")
        handshakes = sum(f["count"] for f in record["facts"])
        share = int(factors["resumed"].rstrip("%")) / 100
        # As many as requested, except those that were in flight at an end of the measurement.
        assert abs(resumed - share * handshakes) <= 2 * record["spec"]["connections"]
        requests = int(factors["requests"]) * record["outcomes"]["completed"]
        assert abs(record["requests"] - requests) <= 16 * record["spec"]["connections"]
    mix = ("--resumed", "60%", "--requests-per-connection", "8", "--size", "4k")
    planned = tlslab.run("plan", "--new", "5000/s", *mix, "--objective", "p99<50ms", "--json")
    if "too noisy" in planned.err:
        # Beside other programs a short calibration may give no answer; it must then say so.
        assert planned.code == 4
        assert re.search(f"({BLOCKS}|{BLOCKS - 1}) blocks", planned.err)
        assert not planned.out
        return
    assert planned.code == 0, planned.err
    found = json.loads(planned.out)
    assert found["processors_low"] <= found["processors"] <= found["processors_high"]
    assert found["checks"] == 1
    # A block in which no connection of a cell completed does not count.
    assert BLOCKS - 1 <= found["blocks"] <= BLOCKS
    # Whatever the noise, the interval is wider than the model's error on the held-out mix.
    assert found["error_bound"] >= found["error"] >= 0
    assert found["cost"]["high"] >= found["cost"]["value"] * (1 + found["error_bound"])
    assert {share["part"] for share in found["shares"]} >= {"full handshake", "resumed handshake"}
