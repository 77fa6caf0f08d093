"""The conductor under failures: unsupported cells, servers that die or do not start."""

from collections import Counter
from pathlib import Path

import pytest

from factories.conductor import ANSWERS, OTHER, TWO, Lab, Script
from tlslab.domain import events
from tlslab.domain.errors import CannotRunError, NoGeneratorError, StoreError
from tlslab.lab.deployments import Prepared
from tlslab.lab.generators.several import SeveralHosts
from tlslab.lab.specs import Aim
from tlslab.servers import Running

REFUSAL = {"schema": "tlslab.error/1", "class": "alert_handshake_failure", "message": "no group"}


def test_a_cell_that_the_probe_saw_refused_is_recorded_once_and_never_tried(
    tmp_path: Path, script: Script
) -> None:
    body = "assert group != 'X448'\nprint(json.dumps(record))"
    lab = Lab(tmp_path, script(ANSWERS + body, refused=("X448",)))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert events.Skipped(2, "tls=1.3,key=ecdsa-p256,group=X448 is unsupported") in lab.events
    assert counts["X448", "unsupported"] == 1
    assert counts["X25519", "done"] == 3
    reasons = [trial.reason for trial in lab.folder.trials() if trial.status == "unsupported"]
    assert reasons[0] is not None
    assert reasons[0].class_ == "alert_handshake_failure"
    words = "the server answered handshake_failure (40) to TLS 1.3 with only X448"
    assert reasons[0].message.startswith(words)


def test_a_failed_preflight_after_an_accepting_probe_is_a_failure(
    tmp_path: Path, script: Script
) -> None:
    body = f"print(json.dumps({REFUSAL!r} if group == 'X448' else record))"
    lab = Lab(tmp_path, script(ANSWERS + body))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert (counts["X448", "failed"], counts["X448", "unsupported"]) == (3, 0)


def test_without_a_probe_the_preflight_reports_what_is_unsupported(
    tmp_path: Path, script: Script
) -> None:
    body = f"print(json.dumps({REFUSAL!r} if group == 'X448' else record))"
    no_probe = "if '--probe' in sys.argv:\n    sys.exit(3)\n"
    path = Path(script(ANSWERS + body))
    path.write_text(path.read_text().replace("if '--probe' in", no_probe + "if '--probe' in", 1))
    lab = Lab(tmp_path, str(path))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert (counts["X448", "unsupported"], counts["X25519", "done"]) == (1, 3)


@pytest.mark.parametrize(
    ("class_", "first", "left"),
    [
        ("alert_handshake_failure", False, {"done": 1, "unsupported": 2}),
        ("alert_internal_error", True, {"failed": 3}),
    ],
)
def test_a_refusal_that_is_not_of_the_cell_does_not_end_its_trials(
    tmp_path: Path, script: Script, class_: str, first: bool, left: dict[str, int]
) -> None:
    """After a trial that was done, or with an alert that says nothing of the parameters."""
    refusal = {**REFUSAL, "class": class_}
    answers = 0 if first else 2  # a trial has two runs
    body = (
        f"calls = open({str(tmp_path / 'calls')!r}, 'a+')\n"
        "calls.write('.' if group == 'X448' else '')\n"
        "calls.flush()\n"
        "calls.seek(0)\n"
        f"refuses = group == 'X448' and len(calls.read()) > {answers}\n"
        f"print(json.dumps({refusal!r} if refuses else record))"
    )
    no_probe = "if '--probe' in sys.argv:\n    sys.exit(3)\n"
    path = Path(script(ANSWERS + body))
    path.write_text(path.read_text().replace("if '--probe' in", no_probe + "if '--probe' in", 1))
    lab = Lab(tmp_path, str(path))
    lab.carry_out()
    trials = [trial for trial in lab.folder.trials() if trial.factors["group"] == "X448"]
    assert Counter(trial.status for trial in trials) == left


def test_a_failing_cell_fails_alone(tmp_path: Path, script: Script) -> None:
    body = (
        "print(json.dumps({'schema': 'tlslab.error/1', 'class': 'http_status', 'message': '500'}"
        " if group == 'P-384' else record))"
    )
    lab = Lab(tmp_path, script(ANSWERS + body))
    lab.carry_out()
    counts = Counter((trial.factors["group"], trial.status) for trial in lab.folder.trials())
    assert counts["P-384", "failed"] == 3
    assert sum(counts.values()) == 18


def test_a_dead_server_fails_its_trial_and_the_next_block_has_a_fresh_one(
    tmp_path: Path, script: Script
) -> None:
    marker = tmp_path / "killed"
    pid_file = tmp_path / "pid"
    body = (
        f"if group == 'P-384' and not os.path.exists({str(marker)!r}):\n"
        f"    open({str(marker)!r}, 'w').close()\n"
        f"    pid = open({str(pid_file)!r}).read()\n"
        "    os.kill(int(pid), signal.SIGKILL)\n"
        # The process is dead once it is a zombie; the signal alone is not enough.
        "    while open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] != 'Z':\n"
        "        pass\n"
        "print(json.dumps(record))"
    )
    lab = Lab(tmp_path, script(ANSWERS + body))
    start = lab.start

    def start_and_report() -> Running:
        running = start()
        pid_file.write_text(str(running.process.pid))
        return running

    lab.start = start_and_report  # type: ignore[method-assign]
    lab.carry_out()
    trials = lab.folder.trials()
    failed = [trial for trial in trials if trial.status == "failed"]
    assert len(failed) == 1
    assert failed[0].reason is not None
    assert failed[0].reason.class_ == "server_died"
    left_out = 5 - failed[0].position
    assert len(trials) == 18 - left_out
    assert events.Skipped(left_out, "the server died in block 1") in lab.events
    assert len(lab.servers) == 3


def test_a_full_disk_stops_the_run_and_the_server(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))

    def full(trial: object) -> None:
        raise StoreError("no space left")

    lab.folder.append = full  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        lab.carry_out()
    assert len(lab.servers) == 1
    assert not lab.servers[0].alive()


def reasons(lab: Lab) -> Counter[tuple[str, str, str]]:
    return Counter(
        (trial.factors["server"], trial.status, trial.reason.message if trial.reason else "")
        for trial in lab.folder.trials()
    )


def test_a_server_that_cannot_be_set_up_fails_its_own_cells_once(
    tmp_path: Path, script: Script
) -> None:
    broken = Prepared(OTHER, Aim(""), failure="nginx refuses its configuration: unknown directive")
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"), TWO, {"nginx": broken})
    lab.carry_out()
    assert reasons(lab) == {
        ("reference", "done", ""): 6,
        ("nginx", "failed", "nginx refuses its configuration: unknown directive"): 2,
    }
    skipped = [event for event in lab.events if isinstance(event, events.Skipped)]
    assert sum(event.trials for event in skipped) == 4
    lab.carry_out()
    assert sum(reasons(lab).values()) == 8


def test_a_server_that_does_not_start_fails_its_own_cells_in_each_block(
    tmp_path: Path, script: Script
) -> None:
    def refuse() -> Running:
        raise CannotRunError("nginx did not start: the port is taken")

    broken = Prepared(OTHER, Aim(""), refuse)
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"), TWO, {"nginx": broken})
    lab.carry_out()
    assert reasons(lab) == {
        ("reference", "done", ""): 6,
        ("nginx", "failed", "nginx did not start: the port is taken"): 6,
    }


def test_the_only_server_that_does_not_start_ends_the_run(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))

    def refuse() -> Running:
        raise CannotRunError("it did not start: no")

    lab.start = refuse  # type: ignore[method-assign]
    with pytest.raises(CannotRunError, match="it did not start: no"):
        lab.carry_out()
    assert lab.folder.trials() == ()


def test_an_engine_that_does_not_report_when_it_measured_fails_the_trial(
    tmp_path: Path, script: Script
) -> None:
    silent = ANSWERS.replace("phase='drain'", "phase='warmup'")
    lab = Lab(tmp_path, script(silent + "print(json.dumps(record))"))
    lab.carry_out()
    assert {trial.status for trial in lab.folder.trials()} == {"failed"}


def test_no_server_is_started_for_a_pool_without_generators(tmp_path: Path, script: Script) -> None:
    lab = Lab(tmp_path, script(ANSWERS + "print(json.dumps(record))"))
    lab.engine = SeveralHosts([], "fail", "tlslab-load", "here")
    with pytest.raises(NoGeneratorError):
        lab.carry_out()
    assert (lab.servers, lab.folder.trials()) == ([], ())
