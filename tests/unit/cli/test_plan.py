"""`tlslab plan`: its inputs, its rejections, its answers."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from factories.costs import made_calibration
from factories.folder import written
from factories.primitives import made_primitives
from factories.run import made_run
from tlslab.cli import run
from tlslab.cli.running import parse_levels
from tlslab.cli.values import as_bytes, as_rate
from tlslab.domain.errors import UsageError
from tlslab.domain.trial import Reason

MIX = ("--resumed", "60%", "--requests-per-connection", "8", "--size", "4k")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("runs") / "calibrate", made_calibration())


def test_a_load_is_answered_with_processors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = run(["plan", str(folder), "--new", "5000/s", *MIX, "--objective", "p99<50ms"])
    said = capsys.readouterr().out
    assert ended == 0
    assert said.startswith("2 processors (95 %: 2 to 3) carry 5,000 new connections/s")
    assert "Whether 2 processors will do is not established; 3 will, by the whole" in said
    assert "held out of its fit" in said
    assert "full handshake" in said


def test_few_blocks_are_an_indication(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = made_calibration(noise=0.01, blocks=3)
    brief = written(tmp_path / "brief", made)
    assert run(["plan", str(brief), "--processors", "4", *MIX]) == 0
    assert "3 blocks of calibration, fewer than 5, carry no answer" in capsys.readouterr().out


def test_a_mix_outside_of_what_was_measured_gives_an_indication(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "Only an indication: outside of what was measured"
    assert run(["plan", str(folder), "--processors", "4", *MIX]) == 0
    assert words not in capsys.readouterr().out
    far = ("--requests-per-connection", "100", "--size", "1M")
    assert run(["plan", str(folder), "--processors", "4", *far]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        f"{words} are 100 requests (measured: 1 to 16) and 1,048,576 B (measured: 1,024 to 262,144)"
    ) in said


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("asked", [("--processors", "4"), ("--new", "5000/s")])
def test_few_blocks_carry_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], blocks: int, asked: tuple[str, str]
) -> None:
    brief = written(tmp_path / "brief", made_calibration(noise=0.01, blocks=blocks))
    assert run(["plan", str(brief), *asked, *MIX]) == 0
    said = capsys.readouterr().out
    assert "new connections/s" in said
    assert "95 %" not in said


def test_a_plan_has_the_interval_of_its_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(folder), "--processors", "1", *MIX, "--objective", "p99<50ms"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.match(r"1 processor carries [\d,]+ \(95 %: [\d,]+ to [\d,]+\) new", said)
    assert "The processor is 80 % busy with it" in said
    assert "p99<50ms is met in the queue M/M/1 by the cost's value" in said


def test_processors_are_answered_with_a_load(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(folder), "--processors", "4", *MIX, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["processors"] == 4
    assert found["rate_low"] < found["rate"] < found["rate_high"]
    assert found["checks"] == 6


def test_the_newest_calibration_is_taken(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["plan", "--processors", "4"]) == 2
    assert "no run folder of calibrate below runs/" in capsys.readouterr().err
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one").symlink_to(folder)
    (tmp_path / "runs" / "none").mkdir()
    assert run(["plan", "--processors", "4"]) == 0
    assert "planned with runs/one" in capsys.readouterr().err


CHACHA, HYBRID = "TLS_CHACHA20_POLY1305_SHA256", "X25519MLKEM768"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give --new RATE"),
        (["--new", "1/s", "--processors", "2"], "give --new RATE"),
        (["--new", "many"], "--new many: not a rate"),
        (["--new", "0"], "not a rate"),
        (["--processors", "1", "--size", "4 parsecs"], "not a size"),
        (["--processors", "1", "--resumed", "140%"], "not a whole percentage"),
        (["--processors", "1", "--objective", "fast"], "must have the form p99<50ms"),
        (["--processors", "1", "--group", "P-521"], "no cost of: P-521"),
        (["--processors", "1", "--group", "X2551"], "did you mean 'X25519'?"),
        (["--processors", "1", "--busy", "0%"], "not a percentage"),
        (["--processors", "1", "--objective", "p99<0.1ms"], "no number of processors meets"),
        # A connection that TLS lacks.
        (["--processors", "1", "--tls", "1.2", "--suite", CHACHA], "--suite"),
        (["--processors", "1", "--tls", "1.2", "--group", HYBRID], "exists in TLS 1.3 only"),
    ],
)
def test_bad_input_gets_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert run(["plan", str(folder), *options]) == 2
    assert words in capsys.readouterr().err


TWO = {"tls": ("1.2", "1.3"), "key": ("rsa-2048", "ecdsa-p256")}


def test_a_mix_outside_the_calibration_is_refused_with_the_calibration_that_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = written(tmp_path / "c", made_calibration(quick=True, levels=TWO))
    mix = ("--processors", "4", "--tls", "1.3", "--key", "rsa-2048", "--resumed", "60%")
    assert run(["plan", str(place), *mix]) == 2
    said = capsys.readouterr().err
    assert "no cost of: TLS 1.3: resumed handshake" in said
    command = re.search(r"`(tlslab run calibrate --target nginx --set .*)`", said)
    assert command is not None
    words = command[1].split()
    given = parse_levels([words[n + 1] for n, word in enumerate(words) if word == "--set"])
    again = written(tmp_path / "again", made_calibration(levels=given))
    assert run(["plan", str(again), *mix]) == 0


def test_bytes_with_an_implausible_cost_are_not_planned_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_calibration()
    where = replace(made.environment, primitives=made_primitives(times=0.1))
    place = written(tmp_path / "c", replace(made, environment=where))
    suite = ("--suite", "TLS_AES_256_GCM_SHA384")
    assert run(["plan", str(place), "--processors", "1", *suite]) == 4
    assert "times what their encryption costs" in capsys.readouterr().err
    assert run(["plan", str(place), "--processors", "1"]) == 0


def test_another_experiment_has_no_costs_of_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = written(tmp_path / "groups", made_run(quick=True))
    assert run(["plan", str(other), "--processors", "1"]) == 2
    assert "make one: `tlslab run calibrate --target SERVER`" in capsys.readouterr().err


def test_rates_and_sizes_are_read_as_people_write_them() -> None:
    assert [as_rate(text, "--new") for text in ("5000/s", "5,000", "5k/s")] == [5000.0] * 3
    assert [as_bytes(text, "--size") for text in ("4096", "4k", "4KiB", "4.096kB")] == [4096] * 4
    with pytest.raises(UsageError):
        as_bytes("-1", "--size")


def test_a_calibration_that_is_too_noisy_answers_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noisy = written(tmp_path / "noisy", made_calibration(noise=3.0, quick=True))
    assert run(["plan", str(noisy), "--processors", "4", *MIX]) == 4
    said = capsys.readouterr()
    assert "error: the calibration is too noisy to plan with: " in said.err
    assert "tlslab run calibrate --blocks N" in said.err
    assert said.err.rstrip().endswith("cannot tell: exit 4")
    assert not said.out


def test_a_calibration_without_costs_cannot_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_calibration(quick=True)
    trials = [
        replace(trial, status="failed", reason=Reason("server_died", "the server died"), runs={})
        for trial in made.trials
    ]
    costless = written(tmp_path / "cost less", replace(made, trials=tuple(trials)))
    assert run(["plan", str(costless), "--processors", "4"]) == 4
    assert f"`tlslab report '{costless}'` shows what failed" in capsys.readouterr().err


def test_a_calibration_without_costs_is_finished_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_calibration(quick=True)
    begun = written(tmp_path / "be gun", replace(made, trials=()))
    assert run(["plan", str(begun), "--processors", "4"]) == 2
    assert f"finish the run: `tlslab run --resume '{begun}'`" in capsys.readouterr().err
