"""Ctrl-C, kill -9, a full disk, a dying server: finished trials are kept, no process is left."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from live.harness import Own, Tlslab, assert_finished, trials, wait_for_trials

Small = Callable[..., str]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_an_interruption_keeps_what_was_finished(
    tlslab: Tlslab, small: Small, number: signal.Signals, target: str, tmp_path: Path
) -> None:
    child = tlslab.start("run", small(blocks=20), "--target", target, "--out", "r")
    wait_for_trials(tmp_path / "r", 3)
    child.send_signal(number)
    ended = tlslab.finish(child)
    assert ended.code == 130
    kept = len(trials(tmp_path / "r"))
    assert 3 <= kept < 40
    assert "--resume r" in ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    # A busy machine may invalidate a trial: it is kept and judged, but not used.
    done = [json.loads(line)["cell"] for line in trials(tmp_path / "r")]
    for cell in summary["cells"]:
        assert cell["trials"] == done.count(cell["key"]) or cell["reasons"]


def test_a_run_is_resumed_by_one_at_a_time(tlslab: Tlslab, small: Small, tmp_path: Path) -> None:
    arguments = ["run", small(blocks=20)]
    child = tlslab.start(*arguments, "--out", "r", "--seed", "11")
    wait_for_trials(tmp_path / "r", 1)
    for flags in (["--resume", "r"], ["--out", "r"]):
        second = tlslab.start(*arguments, *flags)
        _, said = second.communicate(timeout=60)
        (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
        assert second.returncode == 3
        assert f"(process {child.pid}) is at work on this run" in line
    child.kill()
    child.communicate()
    before = len(trials(tmp_path / "r"))
    child = tlslab.start(*arguments, "--resume", "r")
    wait_for_trials(tmp_path / "r", before + 1)
    child.send_signal(signal.SIGINT)
    assert tlslab.finish(child).code == 130


def test_an_interruption_before_the_first_trial(tlslab: Tlslab, small: Small) -> None:
    child = tlslab.start("run", small(measure_ms=30_000), "--out", "r")
    tlslab.named("tlslab-load")
    child.send_signal(signal.SIGINT)
    assert tlslab.finish(child).code == 130


@pytest.mark.capability("kill -9, then `--resume`", only=("nginx",))
@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_kill_9_loses_no_finished_trial_and_resume_does_the_rest(
    tlslab: Tlslab, small: Small, target: str, tmp_path: Path
) -> None:
    arguments = ["run", small(blocks=4), "--target", target]
    child = tlslab.start(*arguments, "--out", "r", "--seed", "11")
    wait_for_trials(tmp_path / "r", 3)
    child.kill()
    child.communicate()
    tlslab.assert_nothing_left()
    before = trials(tmp_path / "r")
    assert 3 <= len(before) < 8
    assert len(list(tlslab.private.iterdir())) == 1
    ended = tlslab.run(*arguments, "--resume", "r")
    assert_finished(ended, tmp_path / "r")
    assert list(tlslab.private.iterdir()) == []
    after = trials(tmp_path / "r")
    assert after[: len(before)] == before
    assert sorted(json.loads(line)["trial"] for line in after) == list(range(8))
    order = [json.loads(line)["cell"] for line in after]
    plan = json.loads((tmp_path / "r" / "plan.json").read_text())
    assert order == [planned["cell"] for planned in plan["trials"]]


def test_resume_refuses_another_experiment_target_or_seed(tlslab: Tlslab, small: Small) -> None:
    folder = tlslab.folder / "r"
    assert_finished(tlslab.run("run", small(blocks=1), "--out", "r", "--seed", "1"), folder)
    other = tlslab.run("run", "groups", "--quick", "--resume", "r")
    assert other.code == 2
    assert "another experiment" in other.errors[0]
    other = tlslab.run("run", small(blocks=1), "--target", "nginx", "--resume", "r")
    assert other.code == 2
    assert "against 'reference'" in other.errors[0]
    other = tlslab.run("run", small(blocks=1), "--resume", "r", "--seed", "2")
    assert other.code == 2
    assert "planned with the seed 1" in other.errors[0]
    assert_finished(tlslab.run("run", small(blocks=1), "--resume", "r"), folder)


@pytest.mark.parametrize(("target", "name"), [("reference", "tlslab-serve"), ("nginx", "nginx")])
def test_a_server_that_dies_fails_its_trial_and_the_run_goes_on(
    tlslab: Tlslab, small: Small, target: str, name: str, tmp_path: Path
) -> None:
    """The first server is killed in the middle of a trial, by its process id."""
    child = tlslab.start("run", small(measure_ms=1500), "--target", target, "--out", "r")
    wait_for_trials(tmp_path / "r", 1)
    server = tlslab.named(name)
    tlslab.named("tlslab-load")
    server.kill()
    ended = tlslab.finish(child)
    assert ended.code == 1
    reported = [json.loads(line) for line in trials(tmp_path / "r")]
    assert [trial["status"] for trial in reported] == ["done", "failed", "done", "done"]
    assert reported[1]["reason"]["class"] == "server_died"
    assert reported[1]["runs"] == {}


FULL_DISK = """
mount -t tmpfs -o size=96k tmpfs full || exit 99
"$@"
code=$?
cp -r full kept
exit $code
"""


def test_a_full_disk_is_one_clear_line_and_keeps_what_was_written(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    """A file system of 96 KiB in a separate mount namespace."""
    (tmp_path / "full").mkdir()
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL_DISK, "sh"]
    ended = tlslab.run("run", small(blocks=50), "--out", "full/r", prefix=prefix)
    assert ended.code == 3, ended.err
    assert len(ended.errors) == 1
    assert "No space left on device" in ended.errors[0]
    kept = trials(tmp_path / "kept" / "r")
    assert len(kept) >= 1
    assert all(json.loads(line)["schema"] == "tlslab.trial/2" for line in kept)


def test_a_read_only_folder_is_refused_before_any_load(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    (tmp_path / "read-only").mkdir()
    script = 'mount -t tmpfs -o ro tmpfs read-only || exit 99; "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    ended = tlslab.run("run", small(), "--out", "read-only/r", prefix=prefix)
    assert ended.code == 3
    assert "Read-only file system" in ended.errors[0]


WITHOUT_PROC = [
    *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"),
    *('mount -t tmpfs tmpfs /proc || exit 99; "$@"', "sh"),
]


@pytest.mark.parametrize("arguments", [["run", "groups", "--quick"], ["selftest"]])
def test_a_run_without_proc_is_one_clear_line(tlslab: Tlslab, arguments: list[str]) -> None:
    ended = tlslab.run(*arguments, prefix=WITHOUT_PROC)
    assert ended.code == 3, ended.err
    assert ended.errors == ["error: /proc cannot be read (No such file or directory)"]


def test_without_proc_the_doctor_names_it(tlslab: Tlslab) -> None:
    checked = tlslab.run("doctor", "--json", prefix=WITHOUT_PROC)
    assert checked.code == 3, checked.err
    assert [each["name"] for each in json.loads(checked.out) if each["level"] == "hard"] == ["proc"]


def test_without_proc_a_load_says_what_is_not_known(tlslab: Tlslab, own_reference: Own) -> None:
    load = ["load", "-n", "20", "--ca", str(own_reference.ca), own_reference.url]
    loaded = tlslab.run(*load, prefix=WITHOUT_PROC)
    assert "Traceback" not in loaded.err
    assert loaded.code in (0, 1), loaded.err
    assert "this system does not say for how long workers were ready" in loaded.out
    assert "/proc/stat cannot be read" in loaded.err


def test_the_reader_of_the_output_may_go_away(tlslab: Tlslab) -> None:
    child = tlslab.start("experiments")
    assert child.stdout is not None
    child.stdout.close()
    assert child.stderr is not None
    assert "Traceback" not in child.stderr.read()
    child.wait()
