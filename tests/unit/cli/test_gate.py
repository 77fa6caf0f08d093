"""`tlslab compare --gate`: its exit codes and its output."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from factories.folder import written
from factories.run import SERVER_US, World, made_run
from tlslab.analysis.gate import gate
from tlslab.cli import run
from tlslab.domain.finding import Comparison
from tlslab.experiment import load, with_levels
from tlslab.words.gate import gate_lines

FEW = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256")}


def made(path: Path, slowdown: float, noise: float, seed: int) -> Path:
    costs = {group: us * slowdown for group, us in SERVER_US.items()}
    world = World(server_us=costs, noise=noise, seed=seed)
    return written(path, made_run(world, experiment=with_levels(load("groups"), FEW)))


@pytest.mark.parametrize(
    ("slowdown", "noise", "code", "words"),
    [
        (1.15, 0.01, 1, "4 ratios slower by more than 3 % (95 %): exit 1"),
        (1.0, 0.005, 0, "a slowdown of more than 3 % is excluded in 4 ratios: exit 0"),
        (1.0, 0.15, 4, "cannot tell whether a slowdown of more than 3 % is there"),
    ],
)
def test_a_gate_ends_by_what_is_established(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    slowdown: float,
    noise: float,
    code: int,
    words: str,
) -> None:
    a = made(tmp_path / "a", 1.0, noise, seed=1)
    b = made(tmp_path / "b", slowdown, noise, seed=2)
    ended = run(["compare", str(a), str(b), "--gate", "3%"])
    said = capsys.readouterr().err
    assert (ended, words in said) == (code, True), said
    assert "gate: TLS 1.3, ECDSA P-256, P-256, new connections/s" in said
    if code == 4:
        assert "in one ratio is found in most such runs" in said


def test_a_cell_that_failed_in_the_second_run_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = with_levels(load("groups"), FEW)
    costs = dict.fromkeys(SERVER_US, 250.0)
    a = written(
        tmp_path / "a", made_run(World(server_us=costs, noise=0.005), experiment=experiment)
    )
    world = World(server_us=costs, noise=0.005, seed=2)
    run_b = made_run(world, experiment=experiment)
    trials = tuple(
        replace(trial, status="failed", runs={}) if trial.factors["group"] == "P-256" else trial
        for trial in run_b.trials
    )
    b = written(tmp_path / "b", replace(run_b, trials=trials))
    assert run(["compare", str(a), str(b), "--gate", "10%"]) == 4
    said = capsys.readouterr().err
    assert "P-256, new connections/s: the second run has no value (failed): cannot tell" in said


def test_a_cost_can_be_gated_where_the_rate_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = made(tmp_path / "a", 1.0, 0.01, seed=1), made(tmp_path / "b", 1.15, 0.01, seed=2)
    cost = ["--gate-by", "server_cpu_us_per_connection"]
    assert run(["compare", str(a), str(b), "--gate", "3%", *cost]) == 1
    assert run(["compare", str(a), str(b), "--gate", "50%", *cost]) == 0
    assert "the server's processor time for a new connection" in capsys.readouterr().err


def test_bounds_are_called_one_sided_and_what_is_not_comparable_says_why() -> None:
    cell = "tls=1.3,group=X25519"
    found = Comparison(
        cell, cell, "connections_per_s", 0.98, 0.96, 1.0, 10, "", "cannot_tell", error=0.01
    )
    bound = replace(found, verdict="not_comparable", method="not comparable: A: a lower bound")
    bare = replace(found, low=None, high=None, error=None)
    half = replace(bound, bounded="baseline")
    second, first, third, fourth = gate_lines(gate([found, half, bound, bare], 0.1))
    assert ": 1.020 times as slow (at least 1.004, at most 1.037, each 95 %): passes" in first
    assert second.endswith(
        ": at least 1.004 times as slow (95 %; the first side is a lower bound): cannot tell"
    )
    assert third.endswith(": not comparable: A: a lower bound: cannot tell")
    assert fourth.endswith(": no interval: cannot tell")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--gate", "3"], "--gate 3: not a percentage"),
        (["--gate", "-3%"], "--gate -3%: not a percentage"),
        (["--equivalence", "much%"], "--equivalence much%: not a percentage"),
        (["--gate-by", "connections_per_s"], "--gate-by needs --gate"),
        (["--gate", "3%", "--gate-by", "connection_per_s"], "did you mean 'connections_per_s'"),
    ],
)
def test_wrong_wishes_are_usage_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    a, b = made(tmp_path / "a", 1.0, 0.01, seed=1), made(tmp_path / "b", 1.0, 0.01, seed=2)
    assert run(["compare", str(a), str(b), *options]) == 2
    assert words in capsys.readouterr().err


def test_equivalence_is_as_narrow_as_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = made(tmp_path / "a", 1.0, 0.02, seed=1), made(tmp_path / "b", 1.0, 0.02, seed=2)
    verdicts = []
    for margin in ("20%", "0.1%"):
        assert run(["compare", str(a), str(b), "--json", "--equivalence", margin]) == 0
        found = json.loads(capsys.readouterr().out)
        rates = [e for e in found["comparisons"] if e["estimate"] == "connections_per_s"]
        verdicts.append({each["verdict"] for each in rates})
    assert verdicts == [{"equivalent"}, {"cannot_tell"}]


@pytest.mark.parametrize(("slower", "code"), [(1.15, 1), (1.0, 0)])
def test_the_two_servers_of_one_run_pass_a_gate_or_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], slower: float, code: int
) -> None:
    experiment = with_levels(load("groups"), {**FEW, "server": ("nginx", "apache")})
    made_one = made_run(World(slower={"apache": slower}, noise=0.005), experiment=experiment)
    path = written(tmp_path / "both", made_one)
    out = tmp_path / "page"
    command = ["compare", str(path), "--gate", "5%", "--out", str(out), "--details"]
    assert run(command) == code
    said = capsys.readouterr()
    assert "Does apache differ from nginx?" in said.out
    # A long line is broken as a shell continues it.
    assert f"again: tlslab compare {path}" in said.out.replace("\\\n    ", "")
    assert (out / "report.html").exists()
    assert "gate: TLS 1.3, ECDSA P-256, P-256, new connections/s" in said.err
    assert run(["compare", str(path), "--out", str(path)]) == 2
    assert run(["compare", str(tmp_path / "none")]) == 3


def test_a_run_of_one_server_needs_a_second_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path / "a", 1.0, 0.01, seed=1)
    assert run(["compare", str(path)]) == 2
    error, remedy, _ = capsys.readouterr().err.splitlines()
    assert error == "error: the run has 1 server: two are compared"
    assert remedy.startswith("  help: give another run, B; or measure two servers in one run")
