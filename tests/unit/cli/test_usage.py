"""Wrong usage, versions, help and completion: the same for every command."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Group
from rich.text import Text
from typer.main import get_command

from tlslab import __version__, cli
from tlslab.cli import console
from tlslab.cli.app import app
from tlslab.cli.options import EXPERIMENTS
from tlslab.cli.values import as_bytes, as_place, as_url, servers_in
from tlslab.domain.command_line import did_you_mean, nearest
from tlslab.domain.errors import EngineError, UsageError
from tlslab.experiment import shipped
from tlslab.lab.discovery import with_status_remedy
from tlslab.servers import MANAGED

COMMANDS = tuple(get_command(app).commands)  # type: ignore[attr-defined]
OWN = tuple(name for name in COMMANDS if name != "load")


def ended(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    """Exit code, standard output, and the lines of standard error."""
    code = cli.run(arguments)
    out, err = capsys.readouterr()
    return code, out, err.splitlines()


@pytest.fixture(autouse=True)
def plain_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.err, "_width", 4000)


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [(), *((name,) for name in OWN)])
def test_every_command_has_help(
    command: tuple[str, ...], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(*command, flag, capsys=capsys)
    assert (code, err) == (0, [])
    assert "Usage: tlslab" in out


@pytest.mark.parametrize("flag", ["-V", "--version"])
@pytest.mark.parametrize("command", [(), *((name,) for name in OWN)])
def test_every_command_reports_the_version(
    command: tuple[str, ...], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(*command, flag, capsys=capsys) == (0, f"tlslab {__version__}\n", [])


def test_the_help_of_run_names_all_that_exists(capsys: pytest.CaptureFixture[str]) -> None:
    out = "".join(ended("run", "-h", capsys=capsys)[1].split()).replace("│", "")
    for name in (*MANAGED, *shipped()):
        assert name in out


@pytest.mark.parametrize(
    ("arguments", "error", "meant"),
    [
        (["--versoin"], "no such option: --versoin", "'--version'"),
        (["rnu", "groups"], "no such command 'rnu'", "'run'"),
        (["run", "groups", "--quik"], "no such option: --quik", "'--quick'"),
        (["run", "gruops"], "no experiment 'gruops'", "'groups'"),
        (["run", "groups", "--target", "ngnix"], "unknown target 'ngnix'", "'nginx'"),
        (["run", "groups", "--set", "gruop=X25519"], "unknown factor 'gruop'", "'group'"),
        (["run", "groups", "--set", "group=x25591"], "unknown group 'x25591'", "'X25519'"),
        (["targets", "hapoxy"], "unknown target 'hapoxy'", "'haproxy'"),
        (["scale", "--backend", "opensll"], "--backend opensll", "'openssl'"),
    ],
)
def test_a_slip_is_reported_with_what_was_meant(
    arguments: list[str], error: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err[0].startswith(f"error: {error}")
    assert f"did you mean {meant}?" in err[1]
    assert err[1].startswith("  help: ")
    assert err[2:] == ["wrong usage: exit 2"]


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "groups", "--blocks", "0"], ["report"], ["run", "groups", "--seed"]],
)
def test_other_wrong_usage_is_reported_in_the_same_form(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = ended(*arguments, capsys=capsys)
    assert code == 2
    assert [line.split(":")[0] for line in err] == ["error", "  help", "wrong usage"]


def test_another_word_is_no_slip() -> None:
    assert nearest("X25519", ["x25519"]) == "x25519"
    assert did_you_mean("postgres", MANAGED) == ""


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("localhost:8443", "https://localhost:8443/"),
        ("localhost:8443/index.html", "https://localhost:8443/index.html"),
        ("127.0.0.1", "https://127.0.0.1/"),
        ("[::1]:8443", "https://[::1]:8443/"),
        ("www.example.org", "https://www.example.org/"),
        ("https://h/x", "https://h/x"),
        ("nginx", "nginx"),
        ("ngnix", "ngnix"),
    ],
)
def test_a_host_with_a_port_is_an_https_url(target: str, url: str) -> None:
    assert as_url(target) == url


@pytest.mark.parametrize("command", [["run", "groups"], ["scale"], ["validate"]])
def test_a_url_of_another_scheme_has_its_remedy(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(*command, "--target", "http://localhost:80/x", capsys=capsys)
    assert (code, out) == (2, "")
    assert err[0] == "error: http://localhost:80/x: only https:// can be measured"
    assert err[1].startswith("  help: write https://localhost:80/x")


LISTS = (
    "https://127.0.0.1:1/,https://127.0.0.1:2/",
    "https://127.0.0.1:1, https://127.0.0.1:2",
    "https://127.0.0.1:1/ nginx",
    "nginx,https://127.0.0.1:1/",
    "127.0.0.1:1,127.0.0.1:2",
)


# What experiments say that take no list of URLs.
TAKES_NO_URLS = {
    "balancing": "the factor front is set up at servers that the lab starts",
    "calibrate": "calibrate takes one server at a time",
    "concurrency": "is for experiments with a server: concurrency has none",
    "offload": "offload compares servers that the lab starts",
    "runtimes": "runtimes compares servers that the lab starts",
    "servers": "servers compares servers that the lab starts",
}


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("several", LISTS)
def test_no_experiment_takes_a_list_with_a_url_for_one_server(
    name: str, several: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--set", "jdk=jdk-21"] if name == "runtimes" else []
    line = ["run", name, *options, "--target", several, "--dry-run"]
    code, out, err = ended(*line, capsys=capsys)
    if "nginx" in several:
        assert err[0].startswith("error: --target: a URL and a server that the lab starts")
        assert err[1].startswith("  help: make a run for each server")
    elif name in TAKES_NO_URLS:
        assert TAKES_NO_URLS[name] in err[0]
    else:
        assert code == 0
        assert "127.0.0.1:1" in out
        assert "127.0.0.1:2" in out
        return
    assert (code, out) == (2, "")
    assert err[2:] == ["wrong usage: exit 2"]


ONE_SERVER = (
    ["scale", "--target"],
    ["validate", "--target"],
    ["probe"],
    ["grade"],
    ["prove", "--apply", "true", "--revert", "true", "--url"],
)


@pytest.mark.parametrize("command", ONE_SERVER, ids=lambda command: command[0])
@pytest.mark.parametrize("several", LISTS)
def test_a_command_for_one_server_refuses_a_list(
    command: list[str], several: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(*command, several, capsys=capsys)
    assert (code, out) == (2, "")
    assert err[0] == f"error: {several}: one server at a time"
    assert err[1:] == [
        "  help: give one; a comma in the path of a URL is written %2C",
        "wrong usage: exit 2",
    ]


@pytest.mark.parametrize(
    "command", [["run", "groups", "--dry-run", "--target"], *ONE_SERVER], ids=lambda each: each[0]
)
@pytest.mark.parametrize("url", ["https://a,b/", "https://a b/", "https:///x", "https://:1/"])
def test_a_url_needs_a_host_without_a_comma_and_a_blank(
    command: list[str], url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(*command, url, capsys=capsys)
    assert (code, out) == (2, "")
    assert err[0] == f"error: {url}: its host is empty, or has a comma or a blank"
    assert err[1].startswith("  help: write it like https://HOST")


@pytest.mark.parametrize(
    "url",
    ["https://h/a,b", "https://h/a?b=c,d", "https://h/a,b/c.css", "https://h/a/,b", "https://h/a,b:80",
     "https://h/?t=1,12:30", "https://h/,"],
)  # fmt: skip
def test_a_comma_in_a_path_makes_no_list(url: str) -> None:
    assert servers_in(url) == [url]
    assert as_url(url) == url
    assert as_place(url) == "h"


@pytest.mark.parametrize("status", [302, 401, 404, 500])
def test_the_remedy_of_a_status_is_an_option_of_each_command_that_names_it(status: int) -> None:
    refused = EngineError("http_status", "h answered", status=status)
    remedy = with_status_remedy(refused).remedy
    options = {word for word in remedy.split() if word.startswith("--")}
    assert options == {"--expect-status"}
    for name in ("run", "scale", "validate"):
        parameters = get_command(app).commands[name].params  # type: ignore[attr-defined]
        assert options <= {each for parameter in parameters for each in parameter.opts}, name


def test_the_list_of_experiments_ends_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = ended("experiments", capsys=capsys)
    assert (code, err) == (0, [f"{len(shipped())} experiments listed: exit 0"])


def test_a_line_that_must_stay_whole_is_not_cut_at_the_edge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console.out, "_width", 40)
    console.show(Group(Text("x" * 100, no_wrap=True, overflow="ignore")))
    assert capsys.readouterr().out == "x" * 100 + "\n"
    folder = Path(cli.__file__).parent
    sources = [path.read_text("utf-8") for path in folder.glob("*.py")]
    assert not any("out.print(report.render_text" in source for source in sources)


def test_a_url_is_a_place_where_a_place_is_expected() -> None:
    assert as_place("https://localhost:8443/x?y") == "localhost:8443"
    assert as_place("localhost:8443") == "localhost:8443"
    with pytest.raises(UsageError) as raised:
        as_place("http://localhost/")
    assert "https://HOST" in raised.value.remedy


def test_a_stream_of_any_encoding_is_spelt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii"))
    console.any_encoding()
    sys.stdout.write("≥ 3 µs × 2 … 你")
    sys.stdout.flush()
    assert raw.getvalue() == b">= 3 us x 2 ... ?"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "utf-8"])
def test_no_encoding_makes_a_traceback(encoding: str) -> None:
    line = [sys.executable, "-m", "tlslab", "run", "groups", "--quick", "--dry-run"]
    done = subprocess.run(line, capture_output=True, env={"PYTHONIOENCODING": encoding}, check=True)
    assert b"Traceback" not in done.stderr
    assert b"6 cells" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_completion_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ended("completion", shell, capsys=capsys)
    assert code == 0
    assert "_TLSLAB_COMPLETE" in out


def test_bash_completes_commands_options_experiments_and_targets() -> None:
    def completed(*words: str) -> set[str]:
        variables = {
            "_TLSLAB_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        line = [sys.executable, "-m", "tlslab"]
        return set(
            subprocess.run(line, env=variables, capture_output=True, text=True).stdout.split()
        )

    assert "run" in completed("tlslab", "r")
    assert completed("tlslab", "run", "gr") == {"groups"}
    assert "--dry-run" in completed("tlslab", "run", "--dr")
    assert completed("tlslab", "run", "groups", "--target", "ng") == {"nginx"}


def test_experiments_are_reported_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ended("experiments", "--json", capsys=capsys)
    assert (code, err) == (0, [f"{len(shipped())} experiments listed: exit 0"])
    assert ", ".join(each["name"] for each in json.loads(out)) == EXPERIMENTS


@pytest.mark.parametrize(
    ("budget", "words"),
    [("5s", "the first try takes some"), ("5", "not a time"), ("soon", "not a time")],
)
def test_a_self_test_needs_time_for_a_try(
    budget: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended("selftest", "--budget", budget, capsys=capsys)
    assert (code, out) == (2, "")
    assert err[0].startswith("error: --budget")
    assert words in err[0]
    assert err[1].startswith("  help: ")


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["validate"], "--seconds"),
        (["run", "groups", "--dry-run"], "--seconds"),
        (["run", "groups", "--dry-run"], "--configure-timeout"),
        (["run", "groups", "--dry-run"], "--ready"),
        (["prove", "--dry-run"], "--ready"),
        (["prove", "--dry-run"], "--settle"),
    ],
)
@pytest.mark.parametrize("value", ["inf", "nan", "3601", "-1"])
def test_a_time_in_seconds_has_an_end(
    command: list[str], option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(*command, f"{option}={value}", capsys=capsys)
    assert (code, out) == (2, "")
    assert err[0].startswith(f"error: invalid value for '{option}': ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"blocks = {'9' * 5000}", "a whole number has too many digits"),
        (f"blocks = {'[' * 3000}", "lists or tables are nested too deeply"),
    ],
)
def test_an_experiment_file_that_the_parser_cannot_take_is_an_error(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    code, out, err = ended("run", str(file), capsys=capsys)
    assert (code, out, err[0]) == (2, "", f"error: {file}: {words}")


@pytest.mark.parametrize("size", ["9" * 400, "9" * 400 + "k", "1025M", "-1", "nan"])
def test_a_size_has_an_end(size: str) -> None:
    with pytest.raises(UsageError, match="not a size up to 1 GiB"):
        as_bytes(size, "--size")
