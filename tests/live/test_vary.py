"""`tlslab run --vary`: what varies is the question, on a server of the lab and on a running one."""

import json
from pathlib import Path
from typing import Any

import pytest

from live.harness import Own, Tlslab, read_trials
from live.studies import STARVED_SIDES

COST = "server_cpu_us_per_connection"


def stated(summary: dict[str, Any], code: str) -> list[dict[str, Any]]:
    return [each["values"] for each in summary["answer"]["statements"] if each["code"] == code]


def is_spoilt(summary: dict[str, Any]) -> bool:
    """Whether a cell has no valid result; only because a side did not get its processors."""
    invalid = [cell for cell in summary["cells"] if cell["verdict"] == "invalid"]
    for cell in invalid:
        assert {note["code"] for note in cell["reasons"]} & STARVED_SIDES, cell["reasons"]
    return bool(invalid)


def test_version_and_key_are_asked_at_once(tlslab: Tlslab, tmp_path: Path) -> None:
    asked = ["--vary", "tls=1.2,1.3", "--vary", "key=rsa-4096,ecdsa-p256", "--target", "nginx"]
    more = ["--set", "group=X25519", "--measure", "new,resumed,request", "--mix", "50% resumed"]
    ended = tlslab.run("run", *asked, "--quick", *more, "--out", "r")
    assert ended.code in (0, 1), ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert len(summary["cells"]) == 8
    for cell in summary["cells"]:
        facts = cell["negotiated"]
        assert facts["tls"] == cell["factors"]["tls"]
        assert facts["kind"] == ("resumed" if cell["factors"]["resumed"] == "100%" else "full")
    if is_spoilt(summary):
        return
    mix, new, resumed, request = stated(summary, "effects")
    assert [each["measure"] for each in (mix, resumed, request)] == ["mix", "resumed", "request"]
    assert (new["measure"], new["estimate"]) == ("new", COST)
    for trial in read_trials(tmp_path / "r"):
        assert ("keep_alive" in trial["runs"]) == (trial["factors"]["resumed"] == "0%")
    effects = {each["level"]: each for each in new["effects"]}
    assert set(effects) == {"1.3", "ecdsa-p256"}
    # A signature with RSA-4096 takes some 50 times as long as one with ECDSA P-256.
    assert effects["ecdsa-p256"]["established"]
    assert effects["ecdsa-p256"]["ratio"]["high"] < 0.5
    (best,) = stated(summary, "best_combination")
    assert best["levels"]["key"] == "ecdsa-p256"
    assert {table["id"] for table in summary["tables"]} >= {"effects-table", "combinations-table"}


def test_a_running_server_decides_what_does_not_vary(
    tlslab: Tlslab, own_nginx: Own, tmp_path: Path
) -> None:
    """It has an RSA key alone, and resumes no session."""
    line = ["--vary", "tls=1.2,1.3", "--target", own_nginx.url, "--ca", str(own_nginx.ca)]
    ended = tlslab.run("run", *line, "--quick", "--out", "r")
    assert ended.code in (0, 1), ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    (new,) = stated(summary, "effects")
    assert new["effects"][0]["level"] == "1.3"
    assert {cell["negotiated"]["tls"] for cell in summary["cells"] if cell["negotiated"]} == {
        "1.2",
        "1.3",
    }
    (missing,) = stated(summary, "measure_missing")
    assert missing["measure"] == "resumed"


def test_which_server_is_a_question(tlslab: Tlslab, tmp_path: Path) -> None:
    line = ["--target", "nginx,apache", "--measure", "new", "--blocks", "5", "--quick"]
    ended = tlslab.run("run", *line, "--out", "r")
    assert ended.code in (0, 1), ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert {cell["factors"]["server"] for cell in summary["cells"]} == {"nginx", "apache"}
    (new,) = stated(summary, "effects")
    assert [each["level"] for each in new["effects"]] == ["apache"]


@pytest.mark.capability("--vary tls=none: what TLS costs at all")
@pytest.mark.parametrize("server", ["nginx", "reference"])
def test_what_tls_costs_is_a_question(tlslab: Tlslab, tmp_path: Path, server: str) -> None:
    ended = tlslab.run("run", "--vary", "tls=none,1.3", "--target", server, "--quick", "--out", "r")
    assert ended.code in (0, 1), ended.err
    made = read_trials(tmp_path / "r")
    seen = {
        (trial["factors"]["tls"], run["record"]["preflight"]["facts"]["tls"])
        for trial in made
        for run in trial["runs"].values()
    }
    assert seen == {("none", "none"), ("1.3", "1.3")}
    assert all(run["record"]["requests"] for trial in made for run in trial["runs"].values())
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    if is_spoilt(summary):
        return
    new, request = stated(summary, "effects")
    assert (new["measure"], request["measure"]) == ("new", "request")
    (effect,) = new["effects"]
    # A handshake costs a server several times what TCP and a short document do.
    assert effect["established"]
    assert effect["ratio"]["low"] > 1.5
    # The baseline is no advice.
    assert not stated(summary, "best_combination")
