"""A script reconfigures a server for each cell: the server selects the group."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from live.harness import Own, Tlslab, trials

GROUPS = ("X25519", "P-256", "P-384")

# Rewrites the server's configuration and makes the server read it again, like an administrator.
SCRIPT = """
set -eu
curve=$1 config=$2
[ "$curve" != "${BROKEN:-}" ] || { echo "no right to set $curve" >&2; exit 3; }
sed -i "s/ssl_ecdh_curve .*/ssl_ecdh_curve $curve;/" "$config/nginx.conf"
kill -HUP "$(cat "$config/nginx.pid")"
"""


@pytest.fixture
def run(
    tlslab: Tlslab, small: Callable[..., str], own_nginx: Own, tmp_path: Path
) -> Callable[..., tuple[int, dict[tuple[str, str], dict[str, Any]]]]:
    """Runs a small experiment over groups, with a command; its code and trials by TLS and group."""
    path = tmp_path / small(blocks=1, measure_ms=400, connections=4, cost_ms=400)
    text = path.read_text().replace('tls = ["1.3"]', 'tls = ["1.2", "1.3"]')
    text = text.replace("ecdsa-p256", "rsa-2048").replace(
        'group = ["X25519", "P-256"]', f"group = {json.dumps(GROUPS)}"
    )
    suite = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    pin = f'\n[[pin]]\nwhen = {{ tls = "1.2" }}\nsuites = ["{suite}"]\n'
    path.write_text(text + pin)
    (tmp_path / "set-group.sh").write_text(SCRIPT)

    def run(
        command: str, ready: str = "10", **variables: str
    ) -> tuple[int, dict[tuple[str, str], dict[str, Any]]]:
        flags = ["--target", own_nginx.url, "--ca", str(own_nginx.ca), "--out", "r"]
        ended = tlslab.run(
            "run", path.name, *flags, "--ready", ready, "--configure", command, **variables
        )
        made = [json.loads(line) for line in trials(tmp_path / "r")]
        assert len(made) == 2 * len(GROUPS), ended.err
        return ended.code, {(t["factors"]["tls"], t["factors"]["group"]): t for t in made}

    return run


COMMAND = "sh set-group.sh {group_openssl} ."


def test_the_server_is_set_up_for_each_cell_and_chooses_on_every_connection(run: Any) -> None:
    _, made = run(COMMAND)
    for (tls, group), trial in made.items():
        assert trial["status"] == "done", trial["reason"]
        for each in trial["runs"].values():
            record = each["record"]
            assert set(record["spec"]["tls"]["groups"]) == set(GROUPS)
            assert {(fact["tls"], fact["group"]) for fact in record["facts"]} == {(tls, group)}
            assert record["outcomes"]["unexpected"] == {}
            assert record["outcomes"]["completed"] > 0


def test_a_command_that_fails_fails_its_own_cells_in_its_words(run: Any) -> None:
    code, made = run(COMMAND, BROKEN="secp384r1")
    assert code == 1
    for (_, group), trial in made.items():
        assert trial["status"] == ("failed" if group == "P-384" else "done"), trial["reason"]
        if group == "P-384":
            assert trial["reason"]["class"] == "hook_failed"
            assert trial["reason"]["message"].endswith("ended with 3: no right to set secp384r1")


def test_a_command_without_effect_is_found_out(run: Any) -> None:
    """The server has all groups: it negotiates the client's first one."""
    code, made = run("true {group}", ready="0.5")
    assert code == 1
    reasons = {key: trial["reason"] for key, trial in made.items()}
    assert {reason and reason["class"] for reason in reasons.values()} <= {"not_ready", None}
    assert "takes other groups than P-256" in reasons["1.3", "P-256"]["message"]
    assert "prefers X25519 to P-256" in reasons["1.2", "P-256"]["message"]


def test_a_server_of_the_labs_own_is_not_configured_by_a_command(tlslab: Tlslab) -> None:
    ended = tlslab.run("run", "groups", "--quick", "--target", "nginx", "--configure", "true")
    assert ended.code == 2
    assert "--configure is for a server that the lab did not start" in ended.err
