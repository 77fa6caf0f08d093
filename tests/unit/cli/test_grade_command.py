"""`tlslab grade` with a made-up probe: exit codes and formats."""

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from factories.offered import listed, record, silent
from tlslab.cli.app import app
from tlslab.domain.errors import CannotRunError, TlslabError, UsageError


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command on a server with this probe record; its exit code, output and error."""

    def run(*options: str, code: int = 0, said: str | None = None, **more: Any) -> Any:
        output = json.dumps(record(**more)) if said is None else said
        ended = subprocess.CompletedProcess((), code, output, "")
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
        exit_code, error = None, None
        try:
            arguments = ["grade", "localhost:8443", *options]
            exit_code = app(arguments, prog_name="tlslab", standalone_mode=False)
        except TlslabError as raised:
            error = raised
        streams = capsys.readouterr()
        return SimpleNamespace(
            exit_code=exit_code,
            exception=error,
            stdout=streams.out,
            stderr=streams.err,
            output=streams.out + streams.err,
        )

    return run


OLD = {"suites": [listed("1.2", ("TLS_RSA_WITH_AES_128_CBC_SHA",))]}


def test_without_a_policy_what_is_for_every_server_decides(graded: Any) -> None:
    ended = graded()
    assert ended.exit_code == 0
    assert "nothing is offered that a policy for every server forbids: exit 0" in ended.output
    ended = graded(**OLD)
    assert ended.exit_code == 1
    assert "something is offered that RFC 10015 forbids: exit 1" in ended.output


@pytest.mark.parametrize(
    ("policies", "code"),
    [
        (("rfc9325",), 0),
        (("mozilla-intermediate",), 0),
        (("mozilla-modern",), 1),
        (("cnsa2",), 1),
        (("rfc9325", "cnsa2"), 1),
        (("rfc9325", "mozilla-intermediate"), 0),
    ],
)
def test_the_exit_code_is_by_the_policies(
    graded: Any, policies: tuple[str, ...], code: int
) -> None:
    ended = graded(*(f"--policy={name}" for name in policies))
    assert ended.exit_code == code
    assert f": exit {code}" in ended.output


@pytest.mark.parametrize(
    ("others", "code"),
    [((), 4), (("--policy=rfc9325",), 4), (("--policy=cnsa2",), 1)],
    ids=["alone", "beside-one-that-passes", "beside-one-that-objects"],
)
def test_a_policy_that_does_not_apply_is_named_and_is_no_pass(
    graded: Any, others: tuple[str, ...], code: int
) -> None:
    ended = graded("--policy=rfc9113", *others, alpn={"accepted": []})
    assert ended.exit_code == code
    assert f"rfc9113 does not apply: exit {code}" in ended.output
    assert graded("--policy=rfc9113", *others).exit_code == (0 if code == 4 else 1)


def test_a_probe_that_ended_early_cannot_pass(graded: Any) -> None:
    assert graded(incomplete="400 connections").exit_code == 4
    assert graded(incomplete="400 connections", **OLD).exit_code == 1


@pytest.mark.parametrize("options", [(), ("--policy=rfc9325",), ("--policy=mozilla-modern",)])
def test_a_server_that_refuses_everything_cannot_pass_and_does_not_fail(
    graded: Any, options: tuple[str, ...]
) -> None:
    """Its name may be wrong, or it wants a client certificate, or it has too much load."""
    nothing: dict[str, Any] = {
        "suites": [],
        "groups": [],
        "signature_schemes": [],
        "certificates": [],
    }
    ended = graded(*options, spoken=(), **nothing)
    assert ended.exit_code == 4
    assert "not known: the server accepted no version" in ended.output


def test_http2_is_not_known_where_its_offer_failed(graded: Any) -> None:
    refusal = {"class": "alert_internal_error", "words": "sends the alert internal_error"}
    alpn = {"accepted": ["http/1.1"], "failed": [{"name": "h2", "refusal": refusal}]}
    ended = graded(alpn=alpn)
    assert ended.exit_code == 4
    assert "not known: asked for ALPN h2, the server sends the alert internal_error" in ended.output
    alpn["failed"][0]["name"] = "acme-tls/1"  # type: ignore[index]
    assert graded(alpn=alpn).exit_code == 0


def test_a_question_without_an_answer_cannot_pass(graded: Any) -> None:
    unknown = {"unknown": ("1.2",), "unanswered": [silent("versions", "TLS 1.2")]}
    ended = graded(**unknown)
    assert ended.exit_code == 4
    words = (
        "not known: asked for TLS 1.2, the server gave no answer in 5 s, nor in 15 s; grade again, "
        "or with a longer --timeout: exit 4"
    )
    assert words in " ".join(ended.output.split())
    assert graded("--policy=rfc9325", **unknown).exit_code == 4
    assert graded(**unknown, **OLD).exit_code == 1
    found = json.loads(graded("--json", **unknown).stdout)
    assert found["unanswered"] == [words.removeprefix("not known: ").partition("; grade")[0]]
    assert "TLS 1.2 is missing" not in {each["name"] for each in found["found"]}


def test_the_day_may_be_another_one(graded: Any) -> None:
    assert graded("--policy=nist-ir8547", "--as-of=2030-01-01").exit_code == 0
    assert graded("--policy=nist-ir8547", "--as-of=2036-01-01").exit_code == 1


def test_json_has_everything(graded: Any) -> None:
    ended = graded("--json", **OLD)
    found = json.loads(ended.stdout)
    assert found["schema"] == "tlslab.grade/1"
    suite = next(each for each in found["found"] if each["topic"] == "suite")
    said = {judgement["policy"]: judgement for judgement in suite["judgements"]}
    assert said["rfc10015"]["grade"] == "forbidden"
    assert said["rfc10015"]["section"] == "section 4"
    assert found["verdicts"][0].keys() == {"policy", "passes", "forbidden", "discouraged"}
    assert len(found["clients"]) >= 30
    assert graded("--format=json", **OLD).stdout == ended.stdout


def test_markdown(graded: Any) -> None:
    assert graded("--format=markdown").stdout.startswith("## localhost:8443 offers nothing")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--policy=nobody",), "unknown policy 'nobody'"),
        (("--as-of=soon",), "--as-of soon: not a date"),
    ],
)
def test_wrong_usage(graded: Any, options: tuple[str, ...], words: str) -> None:
    error = graded(*options).exception
    assert isinstance(error, UsageError)
    assert error.message == words


@pytest.mark.parametrize(("code", "kind"), [(2, UsageError), (3, CannotRunError)])
def test_an_error_of_the_engine_is_the_commands(
    graded: Any, code: int, kind: type[TlslabError]
) -> None:
    said = {"class": "x", "message": "--rate 0: not a rate", "remedy": "start; wait"}
    error = graded(code=code, said=json.dumps(said)).exception
    assert type(error) is kind
    assert (error.message, error.remedy) == ("--rate 0: not a rate", "start; wait")


def test_a_record_that_cannot_be_read(graded: Any) -> None:
    assert isinstance(graded(versions=None).exception, TlslabError)
    assert isinstance(graded(said="{").exception, CannotRunError)
