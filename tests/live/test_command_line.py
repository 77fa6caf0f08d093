"""The command line on real servers: resuming, repeating, JSON everywhere, reasons at the end."""

import json
import shlex
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.main import get_command

from factories.costs import made_calibration
from factories.folder import written
from factories.run import made_run
from live.harness import Ended, Own, Tlslab, assert_finished, trials, wait_for_trials
from tlslab.cli.app import app

Small = Callable[..., str]

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]


def last_line(ended: Ended) -> str:
    return ended.err.splitlines()[-1]


def again(ended: Ended) -> list[str]:
    """The printed command, in the syntax of a shell."""
    text = ended.out[ended.out.rindex("again: ") + len("again: ") :]
    return shlex.split(text.replace("\\\n", ""))


@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_resume_alone_goes_on_with_what_is_in_the_folder(
    tlslab: Tlslab, small: Small, target: str, tmp_path: Path
) -> None:
    """The file no longer exists by then, and --set is not given again."""
    arguments = ["run", small(blocks=20), "--target", target, "--set", "group=P-256,P-384"]
    child = tlslab.start(*arguments, "--blocks", "3", "--seconds", "0.4", "--out", "r")
    wait_for_trials(tmp_path / "r", 1)
    child.send_signal(signal.SIGINT)
    broken_off = tlslab.finish(child)
    assert broken_off.code == 130
    assert "tlslab run --resume r" in broken_off.err
    assert last_line(broken_off) == "interrupted: exit 130"
    (tmp_path / "small.toml").unlink()
    ended = tlslab.run("run", "--resume", "r")
    assert_finished(ended, tmp_path / "r")
    assert len(trials(tmp_path / "r")) == 6
    plan = json.loads((tmp_path / "r" / "plan.json").read_text())
    assert (len(plan["cells"]), plan["blocks"]) == (2, 3)
    assert "measure_ms = 400" in (tmp_path / "r" / "experiment.toml").read_text()


def test_resume_alone_takes_over_whom_to_trust(
    tlslab: Tlslab, small: Small, own_nginx: Own, tmp_path: Path
) -> None:
    place = urlsplit(own_nginx.url)
    where = ["--target", f"{place.netloc}{place.path}", "--ca", str(own_nginx.ca)]
    first = tlslab.run("run", small(blocks=1), *where, "--set", "key=rsa-2048", "--out", "r")
    assert_finished(first, tmp_path / "r")
    path = tmp_path / "r" / "trials.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
    assert_finished(tlslab.run("run", "--resume", "r"), tmp_path / "r")
    other = tlslab.run("run", "--resume", "r", "--target", "nginx")
    assert other.code == 2
    assert "would change the plan" in other.errors[0]


def test_the_printed_command_can_be_run_again(tlslab: Tlslab, small: Small, tmp_path: Path) -> None:
    first = tlslab.run("run", small(blocks=1), "--out", "r", "--details")
    assert_finished(first, tmp_path / "r")
    command = again(first)
    assert command[:2] == ["tlslab", "run"]
    second = tlslab.run(*command[1:])
    (made,) = (tmp_path / "runs").iterdir()
    assert_finished(second, made)
    plans = [json.loads((each / "plan.json").read_text()) for each in (tmp_path / "r", made)]
    assert plans[0] == plans[1]


def test_report_ends_as_the_run_did_and_reports_what_is_lost(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    ran = tlslab.run("run", small(blocks=1), "--out", "r")
    reported = tlslab.run("report", "r")
    assert (reported.code, last_line(reported)) == (ran.code, last_line(ran))
    assert last_line(reported).endswith(f"exit {reported.code}")
    path = tmp_path / "r" / "trials.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(whole[0] + whole[1][:50])
    torn = tlslab.run("report", "r")
    assert torn.code == 1
    assert "the last line is cut off; 1 trial before it whole" in torn.err
    assert "1 of 2 cells" in last_line(torn)
    path.write_bytes(b"")
    empty = tlslab.run("compare", "r", "r")
    assert empty.code == 3
    assert "trials.jsonl is empty" in empty.errors[0]
    (tmp_path / "r" / "environment.json").unlink()
    lost = tlslab.run("report", "r")
    assert lost.code == 3
    assert "environment.json is missing" in lost.errors[0]
    assert "make room" not in lost.err


# A short command line of each command; OWN is a server that the test has started, as a URL with its
# --ca.
BRIEFLY: dict[str, list[str]] = {
    "run": ["small.toml", "--blocks", "1", "--out", "r"],
    "report": ["groups"],
    "export": ["groups"],
    "compare": ["groups", "groups"],
    "recommend": ["groups", "--for", "nginx"],
    "prove": ["--for", "nginx", "--baseline", "old.conf", "--key", "rsa-2048", "--dry-run"],
    "plan": ["costs", "--processors", "4"],
    "history": ["groups"],
    "probe": ["--only", "versions", "OWN"],
    "grade": ["OWN"],
    "scale": ["--levels", "1000,2000,3000", "--backend", "rustls"],
    "validate": ["--rates", "1000", "--seconds", "1"],
    "selftest": ["--quick"],
    "targets": ["reference", "nginx"],
    "doctor": [],
    "experiments": [],
    "load": ["-n", "8", "-c", "2", "OWN"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the short command lines name."""
    folder = tmp_path_factory.mktemp("made")
    written(folder / "groups", made_run(quick=True))
    written(folder / "costs", made_calibration())
    (folder / "old.conf").write_text("ssl_protocols TLSv1.2;\n", "utf-8")
    return folder


# Except the command that prints a shell's script.
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_every_command_has_json_and_nothing_else(
    tlslab: Tlslab,
    small: Small,
    made: Path,
    name: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    small()
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    given = BRIEFLY[name]
    if "OWN" in given:
        own: Own = request.getfixturevalue("own_reference")
        given = [*given[:-1], "--ca", str(own.ca), own.url]
    ended = tlslab.run(name, "--json", *given, TLSLAB_SHORT_RUNS="1")
    assert ended.code in (0, 1, 3, 4), ended.err
    if ended.code == 3:
        # Such short tries are unusable if the generator has to wait for its processors.
        assert name == "selftest", ended.err
        assert "no try was finished" in ended.err
        return
    assert json.loads(ended.out)


def test_a_plan_has_json(tlslab: Tlslab, small: Small) -> None:
    planned = tlslab.run("run", small(), "--dry-run", "--json")
    assert len(json.loads(planned.out)["plan"]["cells"]) == 2


def test_a_plan_is_shown_and_nothing_is_started(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    ended = tlslab.run("run", small(blocks=3), "--target", "nginx", "--dry-run", "--seconds", "5")
    assert ended.code == 0
    assert ": 2 cells × 3 blocks against nginx, 6 trials" in ended.out
    assert last_line(ended) == "nothing was started, nothing was written: exit 0"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["private", "small.toml"]
    assert list(tlslab.private.iterdir()) == []


def test_warnings_come_once_and_never_before_wrong_usage(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    wrong = tlslab.run("run", small(), "--target", "ngnix")
    assert "warning" not in wrong.err
    assert "processor" not in wrong.err
    ran = tlslab.run("run", small(blocks=1), "--out", "r")
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    for warning in summary["environment"]["warnings"]:
        assert (ran.out + ran.err).count(warning) == 1


def test_load_keeps_its_record_when_it_is_interrupted_in_json_as_well(
    tlslab: Tlslab, own_reference: Own
) -> None:
    line = ["load", "--json", "--events", "-d", "60s", "-c", "4", "--ca", str(own_reference.ca)]
    child = tlslab.start(*line, own_reference.url)
    assert child.stderr is not None
    for event in child.stderr:
        if '"progress"' in event:
            break
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    ended = tlslab.finish(child)
    assert time.monotonic() - began < 30
    assert ended.code == 130
    assert json.loads(ended.out)["outcomes"]["completed"] > 0


def test_load_reads_the_allow_file_in_every_form(tlslab: Tlslab, tmp_path: Path) -> None:
    """No host has this name (RFC 6761): if allowed, it is looked up; else it is refused at once."""
    file = tmp_path / "config" / "tlslab" / "allow"
    file.parent.mkdir(parents=True)
    file.write_text("192.0.2.1\n")
    line = ["-n", "1", "--timeout", "200ms", "https://192.0.2.1/"]
    for form in ([], ["--json"]):
        ended = tlslab.run("load", *form, *line, XDG_CONFIG_HOME=str(tmp_path / "config"))
        assert ended.code == 3
        assert "--allow" not in ended.err, ended.err
        refused = tlslab.run("load", *form, *line, XDG_CONFIG_HOME="/none")
        assert "--allow" in refused.err


@pytest.mark.parametrize(
    "mode",
    [
        ["run", "-n", "4", "URL"],
        ["probe", "HOST", "--only", "versions", "--json"],
        ["hold", "3", "--dwell", "10ms", "URL"],
        ["in-memory", "-d", "100ms", "--json"],
        ["primitives", "--time", "1ms", "--json"],
        ["schema", "hold"],
    ],
    ids=lambda mode: mode[0],
)
def test_load_takes_every_mode_that_its_help_lists(
    tlslab: Tlslab, own_reference: Own, mode: list[str], tmp_path: Path
) -> None:
    """A mode that connects to no host does not get the hosts of the allow file."""
    file = tmp_path / "config" / "tlslab" / "allow"
    file.parent.mkdir(parents=True)
    file.write_text("192.0.2.1\n")
    place = urlsplit(own_reference.url)
    words = {"URL": own_reference.url, "HOST": place.netloc}
    line = [words.get(word, word) for word in mode]
    trust = ["--ca", str(own_reference.ca)] if {"URL", "HOST"} & {*mode} else []
    ended = tlslab.run("load", *line, *trust, XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert ended.code == 0, ended.err
    assert ended.out


def test_load_names_its_own_option_and_shows_the_engines_errors(
    tlslab: Tlslab, own_reference: Own
) -> None:
    assert "--server-metrics <URL>" in tlslab.run("load", "-h").out
    for line in (["--no-such"], ["--format", "csv", "--no-such"], ["hold", "--no-such"]):
        ended = tlslab.run("load", *line, own_reference.url)
        assert (ended.code, ended.out) == (2, "")
        (error,) = ended.err.splitlines()
        assert error.startswith("tlslab-load: unexpected argument '--no-such'")
        assert error.endswith(": exit 2")


def test_a_redirect_is_measured_on_request(
    tlslab: Tlslab, small: Small, own_reference: Own, tmp_path: Path
) -> None:
    place = urlsplit(own_reference.url)
    target = ["--target", f"https://{place.netloc}/redirect", "--ca", str(own_reference.ca)]
    refused = tlslab.run("run", small(blocks=1), *target, "--out", "no")
    assert refused.code == 3
    assert "--expect-status 302" in refused.err
    ended = tlslab.run("run", small(blocks=1), *target, "--expect-status", "302", "--out", "r")
    assert_finished(ended, tmp_path / "r")
    levels = ["--levels", "3,6", "--backend", "rustls"]
    refused = tlslab.run("scale", *target, *levels)
    assert refused.code == 3
    assert "--expect-status 302" in refused.err
    ended = tlslab.run("scale", *target, *levels, "--expect-status", "302")
    assert "every connection lasted" in ended.err, ended.err


def test_load_reports_requests_where_connections_are_kept_open(
    tlslab: Tlslab, own_nginx: Own
) -> None:
    line = ["-c", "4", "-d", "500ms", "--requests-per-connection", "unlimited"]
    ended = tlslab.run("load", *line, "--ca", str(own_nginx.ca), own_nginx.url)
    assert " requests/s " in ended.out
    assert "µs/request" in ended.out
    assert last_line(ended).endswith(f"exit {ended.code}")
