"""`tlslab probe` and `tlslab grade` with a list of hosts and as CSV, with a made-up engine."""

import csv
import io
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from factories.offered import chain, listed, record
from tlslab import cli

Ask = Callable[..., SimpleNamespace]

ERROR = {"message": "nothing listens on gone:1", "remedy": "start the server"}
USAGE = {"message": "unknown topic 'x'", "remedy": "see --help"}

OLD = {"suites": [listed("1.2", ("TLS_RSA_WITH_AES_128_CBC_SHA",))]}
EXPIRED = {"code": "expired", "message": "the certificate has expired"}


def answer(host: str) -> tuple[int, dict[str, Any]]:
    """The engine's exit code and JSON for a host."""
    if host == "gone:1":
        return 3, ERROR
    if host == "wrong":
        return 2, USAGE
    if host == "stop":
        raise KeyboardInterrupt
    if host == "hostile":
        hostile = chain("RSA-2048", "1.2", subject="=HYPERLINK(1)\n", not_after=10**18)
        return 0, record(certificates=[hostile])
    return 0, record(target=host, **(OLD if host.startswith("old") else {}), trust=EXPIRED)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Ask:
    """Runs a command on a list of these hosts."""
    asked: list[Sequence[str]] = []

    def engine(line: Sequence[str], **_: Any) -> Any:
        asked.append(line)
        code, said = answer(line[-1])
        output = json.dumps(said) if "--json" in line else "a table\n"
        return subprocess.CompletedProcess(line, code, output if code == 0 else json.dumps(said))

    def run(command: str, hosts: str, *options: str) -> SimpleNamespace:
        monkeypatch.setattr(subprocess, "run", engine)
        file = tmp_path / "hosts.txt"
        file.write_text(hosts.replace(" ", "\n"))
        code = cli.run([command, f"--hosts={file}", *options])
        streams = capsys.readouterr()
        return SimpleNamespace(code=code, out=streams.out, err=streams.err, asked=asked)

    return run


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_each_host_is_asked_in_its_turn(ask: Ask) -> None:
    ended = ask("probe", "a:1 #a-comment b:2#another  c", "--starttls=smtp")
    assert [line[-1] for line in ended.asked] == ["a:1", "b:2", "c"]
    assert all("--starttls=smtp" in line for line in ended.asked)
    assert ended.out == "a table\n\n" * 3
    assert ended.err.splitlines() == [
        "1 of 3: a:1",
        "2 of 3: b:2",
        "3 of 3: c",
        "all 3 hosts: the server was asked: exit 0",
    ]
    assert ended.code == 0


def test_a_host_that_cannot_be_asked_ends_nothing(ask: Ask) -> None:
    ended = ask("probe", "a:1 gone:1 b:2", "--json")
    found = json.loads(ended.out)
    assert [each["target"] for each in found] == ["a:1", "gone:1", "b:2"]
    assert found[1] == {"schema": "tlslab.error/1", "target": "gone:1", **ERROR}
    assert "error: nothing listens on gone:1" in ended.err
    assert ended.err.endswith("1 of 3 hosts, gone:1 first: nothing listens on gone:1: exit 3\n")
    assert ended.code == 3


def test_json_is_an_array_of_one_host_too(ask: Ask) -> None:
    assert [each["target"] for each in json.loads(ask("probe", "a:1", "--json").out)] == ["a:1"]
    assert [each["target"] for each in json.loads(ask("grade", "a:1", "--json").out)] == ["a:1"]


@pytest.mark.parametrize("command", ["probe", "grade"])
def test_an_interruption_keeps_what_is_finished(ask: Ask, command: str) -> None:
    ended = ask(command, "a:1 stop b:2", "--json")
    assert [each["target"] for each in json.loads(ended.out)] == ["a:1"]
    assert ended.err.endswith("interrupted after 1 of 3 hosts: exit 130\n")
    assert ended.code == 130


@pytest.mark.parametrize(
    ("hosts", "code"),
    [("a:1 b:2", 0), ("a:1 old:1 b:2", 1), ("old:1 gone:1", 3), ("a:1 gone:1 wrong", 2)],
)
def test_the_worst_host_gives_the_exit_code(ask: Ask, hosts: str, code: int) -> None:
    assert ask("grade", hosts).code == code


def test_wrong_usage_on_the_first_host_ends_the_list(ask: Ask) -> None:
    ended = ask("probe", "wrong a:1", "--json")
    assert (ended.code, ended.out, len(ended.asked)) == (2, "", 1)


@pytest.mark.parametrize("hosts", ["", "#none"])
def test_a_file_without_hosts_is_refused(ask: Ask, hosts: str) -> None:
    ended = ask("probe", hosts)
    assert ended.code == 2
    assert "the file names no host" in " ".join(ended.err.split())


@pytest.mark.parametrize("arguments", [[], ["a:1", "--hosts", "hosts.txt"], ["--hosts", "gone"]])
def test_a_host_or_a_file_is_needed(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("probe", "grade"):
        assert cli.run([command, *arguments]) == 2
        assert "--hosts" in capsys.readouterr().err


def test_a_probe_as_csv_has_a_line_for_each_accepted_item(ask: Ask) -> None:
    ended = ask("probe", "a:1 gone:1", "--format=csv")
    found = rows(ended.out)
    kinds = [row["kind"] for row in found]
    assert list(dict.fromkeys(kinds)) == [
        "version", "suite", "group", "scheme", "certificate", "error",
    ]  # fmt: skip
    assert {row["host"] for row in found} == {"a:1", "gone:1"}
    assert [row["name"] for row in found if row["kind"] == "version"] == ["1.3", "1.2"]
    suite = next(row for row in found if row["kind"] == "suite")
    assert (suite["version"], suite["name"]) == ("1.3", "TLS_AES_128_GCM_SHA256")
    assert (suite["code_point"], suite["order"]) == ("4865", "client")
    certificate = next(row for row in found if row["kind"] == "certificate")
    assert (certificate["version"], certificate["not_before"]) == ("1.3 1.2", "2026-11-20")
    assert found[-1]["message"] == ERROR["message"]


def test_a_formula_in_a_certificate_is_text(ask: Ask) -> None:
    certificate = rows(ask("probe", "hostile", "--format=csv").out)[-1]
    assert certificate["name"] == "'=HYPERLINK(1) "
    assert certificate["not_after"] == str(10**18)


def test_a_grading_as_csv_has_the_grades_of_all_policies(ask: Ask) -> None:
    found = rows(ask("grade", "old:1 gone:1", "--format=csv").out)
    assert found[0]["topic"] == "trust"
    assert found[0]["name"] == "not trusted: the certificate has expired"
    suite = next(row for row in found if row["topic"] == "suite")
    assert (suite["host"], suite["rfc10015"]) == ("old:1", "forbidden")
    assert (found[-1]["topic"], found[-1]["name"]) == ("error", ERROR["message"])
