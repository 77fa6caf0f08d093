"""What is no question of `tlslab run --vary` is refused before anything starts."""

import pytest

from tlslab import cli


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["groups", "--vary", "tls=1.2,1.3"], "groups has its own"),
        (["groups", "--measure", "request"], "groups has its own"),
        (["groups", "--mix", "60% resumed"], "groups has its own"),
        (["--vary", "tls"], "--vary tls: not of the form FACTOR=LEVEL,LEVEL"),
        (["--vary", "tls=1.2,1.3", "--vary", "tls=1.2"], "--vary names the factor 'tls' twice"),
        (["--vary", "tls=1.2"], "one level only"),
        (["--vary", "server=nginx,apache", "--target", "nginx"], "both name servers"),
        (["--vary", "tls=1.2,1.3", "--until", "2%"], "an effect needs every cell in every block"),
        (["--target", "nginx"], "ask what a factor changes: --vary tls=1.2,1.3"),
    ],
)
def test_it_is_a_usage_error(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["run", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_plan_is_shown_without_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["run", "--vary", "key=rsa-2048,ecdsa-p256", "--measure", "new", "--dry-run"]
    assert cli.run(line) == 0
    said = capsys.readouterr().out
    assert "What does the certificate key change here?" in said
    assert "2 cells" in said


def test_levels_of_another_factor_are_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    """`groups` with one group has nothing to compare: what varies is the question."""
    fixed = ["--set", "group=X25519", "--set", "key=rsa-2048"]
    assert cli.run(["run", "groups", "--set", "tls=1.2,1.3", *fixed, "--dry-run"]) == 0
    said = capsys.readouterr()
    assert "What does the TLS version change here?" in said.out
    assert "asking --vary tls=1.2,1.3" in said.err
    # It stays as it is where more than that varies, or what other options ask about.
    for more in (
        [],
        ["--set", "tls=1.2,1.3"],
        [*fixed, "--set", "tls=1.3", "--set", "resumed=0%,100%"],
    ):
        line = more if "group=X25519" in more else ["--set", "group=X25519", *more]
        assert cli.run(["run", "groups", *line, "--dry-run"]) == 0
        assert "Which key-exchange group" in capsys.readouterr().out


def test_a_server_of_a_url_is_not_measured_without_tls(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["run", "--vary", "tls=none,1.3", "--target", "https://127.0.0.1:1/", "--dry-run"]
    assert cli.run(line) == 2
    assert "tls=none is measured at servers that the lab starts" in capsys.readouterr().err
