"""Servers that the lab did not start, in one run: measured in turns, and compared by block."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from live.harness import Own, Tlslab, assert_finished, read_trials, trials
from live.studies import STARVED_SIDES


@pytest.mark.capability("two live servers in one run, compared with a gate")
def test_two_servers_are_measured_in_turns_resumed_and_compared(
    tlslab: Tlslab,
    small: Callable[..., str],
    own_nginx: Own,
    own_reference: Own,
    tmp_path: Path,
) -> None:
    (tmp_path / "both.pem").write_text(own_nginx.ca.read_text() + own_reference.ca.read_text())
    (tmp_path / "log.sh").write_text('echo "$1 $TLSLAB_SERVER" >>log\n')
    urls = (own_nginx.url, own_reference.url)
    name = small(blocks=5, measure_ms=500, cost_ms=500)
    ended = tlslab.run(
        "run", name, "--target", ",".join(urls), "--ca", "both.pem",
        "--set", "group=X25519", "--configure", "sh log.sh {server}", "--out", "r",
    )  # fmt: skip
    assert_finished(ended, tmp_path / "r")
    # The command gets the server that it configures, before each trial and each repetition of one.
    calls = Counter((tmp_path / "log").read_text().splitlines())
    assert set(calls) == {f"{url} {url}" for url in urls}
    made = [json.loads(line)["attempts"] for line in trials(tmp_path / "r")]
    assert (len(made), sum(made)) == (10, calls.total())

    folder = tmp_path / "r"
    made = read_trials(folder)
    assert {(each["block"], each["factors"]["server"]) for each in made} == {
        (block, url) for block in range(5) for url in urls
    }
    for trial in made:
        for run in trial["runs"].values():
            assert run["record"]["spec"]["url"] == trial["factors"]["server"]
            assert run["server"]["source"] == "process_tree"
    programs = {
        trial["factors"]["server"]: run["side"]["program"]
        for trial in made
        for run in trial["runs"].values()
    }
    assert programs == {own_nginx.url: "nginx", own_reference.url: "tlslab-serve"}
    deployed = json.loads((folder / "environment.json").read_text())["deployments"]
    assert {each["target"]["name"] for each in deployed} == set(urls)

    kept = trials(folder)
    (folder / "trials.jsonl").write_bytes(b"".join(line + b"\n" for line in kept[:-3]))
    assert_finished(tlslab.run("run", "--resume", "r"), folder)
    assert len(trials(folder)) == len(kept)

    found = tlslab.run("compare", "r", "--json", "--gate", "100%")
    summary = json.loads(found.out)
    cost = next(
        each
        for each in summary["comparisons"]
        if each["estimate"] == "server_cpu_us_per_connection"
    )
    # Blocks lack a pair only where a side did not get its processors.
    starved = {
        note["code"] for cell in summary["cells"] for note in cell["reasons"]
    } & STARVED_SIDES
    is_whole = (cost["n"], cost["method"].partition(";")[0]) == (5, "paired by block")
    assert is_whole or starved, cost
    assert found.code in (0, 1, 4), found.err


def test_servers_with_other_certificates_have_their_own_cells(
    tlslab: Tlslab, small: Callable[..., str], own_nginx: Own, own_reference: Own, tmp_path: Path
) -> None:
    """nginx has an RSA key alone: the cells of the other key are left out for it."""
    (tmp_path / "both.pem").write_text(own_nginx.ca.read_text() + own_reference.ca.read_text())
    ended = tlslab.run(
        "run", small(blocks=1, measure_ms=200), "--target", own_nginx.url,
        "--target", own_reference.url, "--ca", "both.pem", "--set", "group=X25519", "--out", "r",
    )  # fmt: skip
    assert ended.code in (0, 1), ended.err
    plan = json.loads((tmp_path / "r" / "plan.json").read_text())
    keys: dict[str, set[str]] = {}
    for cell in plan["cells"]:
        keys.setdefault(cell["factors"]["server"], set()).add(cell["factors"]["key"])
    assert keys == {own_nginx.url: {"rsa-2048"}, own_reference.url: {"ecdsa-p256"}}
    reasons = {each["reason"] for each in plan["excluded"]}
    places = {url: url.removeprefix("https://") for url in keys}
    assert f"{places[own_nginx.url]} serves rsa-2048, not ecdsa-p256" in reasons
    assert f"{places[own_reference.url]} serves ecdsa-p256, not rsa-2048" in reasons
    # Compared all the same, as two platforms, with the difference named.
    found = tlslab.run("compare", "r", "--json")
    tables = {each["id"]: each["rows"] for each in json.loads(found.out)["tables"]}
    assert ["levels: key", "rsa-2048", "ecdsa-p256"] in tables["differences"]
