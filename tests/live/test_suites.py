"""The suites study on real servers: families of suites, Diffie-Hellman sizes, both HTTPs."""

import json
from pathlib import Path
from typing import Any

import pytest

from live.harness import Tlslab, trials
from tlslab.domain.experiment import Experiment
from tlslab.domain.factors import dh_size
from tlslab.domain.workload import KeepAlive, Window
from tlslab.experiment import dumps, load, with_levels
from tlslab.experiment.short import VARIABLE

SIZES = ("1024", "2048", "3072", "4096", "2048-generated")
FAMILIES = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
)


def tiny() -> str:
    """A suite of each family and all sizes, with windows too short for meaningful figures."""
    levels = {"suite": FAMILIES, "http": ("2", "1.1"), "dh_bits": SIZES}
    quick = with_levels(load("suites", "quick"), levels)
    workload = quick.workload
    short = Window(50, 1200)
    changes: dict[str, Any] = {
        **vars(quick),
        "blocks": 1,
        "workload": type(workload)(
            **{
                **vars(workload),
                "connections": 4,
                "capacity": short,
                "client_cost": short,
                "keep_alive": KeepAlive(Window(100, 500), connections=8),
            }
        ),
    }
    return dumps(Experiment(**changes))


def test_the_whole_study_on_nginx(tlslab: Tlslab, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(tiny(), "utf-8")
    ended = tlslab.run("run", "tiny.toml", "--target", "nginx", "--out", "out")
    assert ended.code in (0, 1), ended.err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    trials = [
        json.loads(line) for line in (tmp_path / "out" / "trials.jsonl").read_text().splitlines()
    ]
    # One more for each version of HTTP, without TLS.
    assert len(trials) == 2 * (len(FAMILIES) - 1 + len(SIZES) + 1)
    assert {trial["status"] for trial in trials} == {"done"}, [t["reason"] for t in trials]
    for trial in trials:
        _check_runs(trial)
    _check_summary(summary)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Not enough to say" in page
    assert "ssl_ciphers" not in page


@pytest.mark.parametrize("server", ["nginx", "apache", "haproxy", "node"])
def test_as_many_connections_as_the_study_has_are_open_before_the_first_request(
    server: str, tlslab: Tlslab, tmp_path: Path
) -> None:
    # Apache keeps a thread for each connection that has not sent a request yet.
    keep_alive = load("suites").workload.keep_alive
    assert keep_alive is not None
    opened = keep_alive.connections
    study = load("suites", "quick")
    keep_alive = KeepAlive(Window(100, 300), connections=opened)
    one = with_levels(study, {"tls": ("1.2",), "suite": FAMILIES[:1], "http": ("2", "1.1")})
    workload = type(one.workload)(**{**vars(one.workload), "keep_alive": keep_alive})
    text = dumps(Experiment(**{**vars(one), "blocks": 1, "workload": workload}))
    (tmp_path / "opened.toml").write_text(text, "utf-8")
    wanted = ["run", "opened.toml", "--target", server, "--out", "out"]
    ended = tlslab.run(*wanted, **{VARIABLE: "1"})
    assert ended.code in (0, 1), ended.err
    made = [json.loads(line) for line in trials(tmp_path / "out")]
    assert [trial["status"] for trial in made] == ["done", "done"], [t["reason"] for t in made]
    for trial in made:
        outcomes = trial["runs"]["keep_alive"]["record"]["outcomes"]
        assert outcomes["in_flight_at_stop"] == opened


def _check_runs(trial: dict[str, Any]) -> None:
    runs, factors = trial["runs"], trial["factors"]
    assert set(runs) == {"capacity", "client_cost", "keep_alive"}
    for kind, run in runs.items():
        record = run["record"]
        assert record["outcomes"]["unexpected"] == {}
        if factors["tls"] == "none":
            assert (record["backend"], record["spec"]["http"]["version"]) == (
                "none",
                factors["http"],
            )
        else:
            assert record["backend"].startswith("openssl")
            assert record["preflight"]["facts"]["suite"] == factors["suite"]
            alpn = {"2": "h2", "1.1": "http/1.1"}[factors["http"]]
            assert record["preflight"]["facts"]["alpn"] in (alpn, None)
        if factors["dh_bits"] != "none":
            assert record["spec"]["tls"]["dh_bits"] == dh_size(factors["dh_bits"])
        if kind == "keep_alive":
            # No connection is made in the measurement: those in flight at its end were there at its
            # start.
            assert record["outcomes"]["completed"] == 0
            assert record["outcomes"]["attempts"] == record["outcomes"]["in_flight_at_stop"] == 8
            assert record["requests"] > 8
        else:
            assert record["requests"] >= record["outcomes"]["completed"] > 0


def _check_summary(summary: dict[str, Any]) -> None:
    factors = [cell["factors"] for cell in summary["cells"]]
    assert {each["dh_bits"] for each in factors} == {"none", *SIZES}
    ids = [table["id"] for table in summary["tables"]]
    places = ("1-2-2", "1-2-1-1")
    kinds = ("suites-kept-open", "suites-handshake", "dh")
    assert ids == [f"{kind}-{place}" for place in places for kind in kinds] + [
        "security",
        "policies",
    ]
    # Two blocks give no sentence; the unit tests of the study have the sentences of more blocks.
    assert summary["answer"]["lacking"]["few"] is True
    assert summary["answer"]["sentences"] == []
    codes = {finding["code"] for finding in summary["findings"]}
    assert codes <= {"too_short_for_steady_state"}
    # Nor do they give a configuration.
    assert summary["recommendation"] is None
    assert summary["texts"] == []
    sized = [c for c in summary["cells"] if c["factors"]["dh_bits"] in ("1024", "4096")]
    cost = {
        (c["factors"]["http"], c["factors"]["dh_bits"]): c["estimates"][
            "server_cpu_us_per_connection"
        ]["value"]
        for c in sized
    }
    for http in ("2", "1.1"):
        assert cost[http, "4096"] > cost[http, "1024"]
