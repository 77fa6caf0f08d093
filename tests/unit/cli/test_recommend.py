"""`tlslab recommend`: its outputs, its reasons, its exit codes."""

import json
import re
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from factories.folder import written
from factories.run import World, made_run
from tlslab.advice.emit import FORMS
from tlslab.advice.policy import policies
from tlslab.cli import run
from tlslab.cli.recommend import EmittedServer
from tlslab.cli.recommending import recommended
from tlslab.domain.wording import few
from tlslab.experiment import load, with_levels
from tlslab.words import recommendation

FEW = {"tls": ("1.3",), "key": ("ecdsa-p256",)}
ALL = ("X25519", "P-256", "P-384", "P-521", "X448", "X25519MLKEM768")
SUCCESSOR = "https://data.tlsref.org/guidelines/6.0.json"


def made(path: Path, noise: float = 0.005, groups: Sequence[str] = ALL, quick: bool = True) -> Path:
    levels = {**FEW, "group": tuple(groups)}
    experiment = with_levels(load("groups", "quick" if quick else ""), levels)
    return written(path, made_run(World(noise=noise), experiment=experiment))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("runs") / "groups")


def test_there_is_a_file_for_each_server() -> None:
    assert [each.value for each in EmittedServer] == list(FORMS)


Said = tuple[int, str, str]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Said:
    code = run(["recommend", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def settings(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_configuration_is_standard_output_and_the_rest_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = asked(capsys, str(folder), "--for", "nginx")
    assert code == 0
    assert settings(out)[-1].startswith("ssl_ecdh_curve X25519:")
    assert "why: X25519 is the best of 6 that no policy objects to" in err
    assert "safer by the policies is X25519MLKEM768" in err
    assert "Candidates, the preferred first (probabilities: --details)" in err
    assert "Pareto set: " not in err
    assert err.splitlines()[-1] == "configuration for nginx: exit 0"
    width = 130
    lines = sum(max(1, -(-len(line) // width)) for line in (out + err).splitlines())
    assert lines <= 40
    whole = asked(capsys, str(folder), "--for", "nginx", "--details")[2]
    assert "Pareto set: " in whole
    assert "over 99 %" in whole


def test_the_same_run_gives_the_same_text(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    once, again = (asked(capsys, str(folder), "--for", "openssl") for _ in range(2))
    assert once == again
    file = tmp_path / "openssl.cnf"
    code, out, _ = asked(capsys, str(folder), "--for", "openssl", "--out", str(file))
    assert (code, out) == (0, "")
    assert file.read_text("utf-8") == once[1]


def test_security_comes_first_when_it_is_the_aim(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = asked(capsys, str(folder), "--for", "nginx", "--aim", "security")
    assert settings(out)[-1].startswith("ssl_ecdh_curve X25519MLKEM768:X25519:prime256v1:")
    assert "a hybrid with a post-quantum KEM" in err
    assert re.search(r"price: security: by .* X25519 is better; X25519MLKEM768 has ", err)


@pytest.mark.parametrize(
    ("aim", "words"), [("bytes", "bytes of a handshake"), ("latency", "service time")]
)
def test_other_aims_go_by_their_own_measures(
    folder: Path, capsys: pytest.CaptureFixture[str], aim: str, words: str
) -> None:
    code, out, err = asked(capsys, str(folder), "--for", "nginx", "--aim", aim)
    assert code == 0
    assert words in err
    assert "ssl_ecdh_curve X25519:" in out


def test_json_has_the_whole_recommendation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(asked(capsys, str(folder), "--for", "jvm", "--json")[1])
    assert found["schema"] == "tlslab.recommendation/1"
    assert found["verdict"] == "settled"
    assert found["order"][0] == "X25519"
    (price,) = [each for each in found["prices"] if each["rival"] == "safest"]
    assert (price["verdict"], price["is_bound"]) == ("faster", False)
    assert 0 <= price["adjusted_p"] <= 0.05
    assert set(found["policies_as_of"].values()) == {each.about.as_of for each in policies()}
    assert len(found["trade_offs"]["cells"]) == 6
    assert found["successors"] == {"Mozilla intermediate 6.0": SUCCESSOR}


def test_the_successor_of_a_policy_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, err = asked(capsys, str(folder), "--for", "nginx")
    assert f"successor: Mozilla intermediate 6.0 is carried on at {SUCCESSOR}." in err
    _, _, err = asked(capsys, str(folder), "--for", "nginx", "--policy", "rfc9325")
    assert "successor: " not in err


def test_a_policy_narrows_what_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = asked(capsys, str(folder), "--for", "nginx", "--policy", "rfc9325")
    assert settings(out)[-1] == "ssl_ecdh_curve X25519:prime256v1;"
    assert re.search(r"left out, \d: no policy speaks of it: .*P-384", err)


def test_nothing_that_may_be_recommended_is_exit_1(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = asked(capsys, str(folder), "--for", "nginx", "--policy", "rfc10015")
    assert (code, out) == (1, "")
    assert "nothing in this run may be recommended: RFC 10015" in err


@pytest.mark.parametrize("groups", [("X448", "P-384"), ("X25519", "P-256")])
def test_a_run_that_cannot_tell_goes_by_the_policies_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], groups: tuple[str, str]
) -> None:
    folder = made(tmp_path / "wide", noise=0.8, groups=groups)
    code, out, err = asked(capsys, str(folder), "--for", "nginx", "--aim", "throughput")
    assert code == 0
    assert "This run cannot tell" in err
    assert "The order is that of the policies alone." in out.replace("\n#  ", "")
    assert "by the policies alone: the run cannot tell: exit 0" in err


def test_unusable_options_are_exit_2(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert asked(capsys, str(folder), "--for", "rwserve")[0] == 2
    code, _, err = asked(capsys, str(folder), "--for", "nginx", "--policy", "rfc932")
    assert (code, "did you mean 'rfc9325'?" in err) == (2, True)
    assert asked(capsys, str(folder), "--for", "iis")[0] == 2
    assert asked(capsys, str(folder))[0] == 2
    one = made(tmp_path / "one", groups=("X25519",))
    code, _, err = asked(capsys, str(one), "--for", "nginx")
    assert (code, "compares neither suites nor groups" in err) == (2, True)
    assert asked(capsys, str(tmp_path / "none"), "--for", "nginx")[0] == 3


def test_old_policies_are_said_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newest = max(policy.about.as_of for policy in policies())
    looked_up = date.fromisoformat(newest)
    said = []
    for years in (1, 2):
        day = date(looked_up.year + years, looked_up.month, 28)
        assert recommended(folder, "nginx", "throughput", (), None, False, day) == 0
        said.append(capsys.readouterr().err)
    assert all(f"policies as of {newest}: RFC 9325 (2022-11), " in each for each in said)
    warning = f"warning: the policies were last held against their sources on {newest}, more than"
    assert [warning in each for each in said] == [False, True]


def test_all_names_are_there_where_details_are_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recommendation, "few", partial(few, most=1, first=1))
    what = ("--for", "nginx", "--policy", "rfc9325")
    brief, whole = (asked(capsys, str(folder), *what, *more)[2] for more in ((), ("--details",)))
    assert re.search(r"left out, 4: no policy speaks of it: \S+ and 3 others\n", brief)
    assert re.search(r"left out, 4: no policy speaks of it: \S+, \S+, \S+ and \S+\n", whole)
