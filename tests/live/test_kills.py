"""kill -9 at random moments of a run: no finished trial is lost, none is counted twice.

The tests make ten kills; `make test-kills` makes 100, and keeps the results (bench.kills).
"""

import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from live.harness import Child, Tlslab, assert_finished, trials, wait_for_trials

Small = Callable[..., str]

KILLS = int(os.environ.get("TLSLAB_KILLS", "10"))

# The file for the results; none in the tests.
KEPT = os.environ.get("TLSLAB_KILLS_FILE", "")

# A kill comes at a random moment after the start, or after the first trial of that start: during
# the set-up, during a trial, or while its result is written.
LONGEST_S = 1.5

# At every fifth kill a second process tries to open the folder while the first works on it.
RIVAL_EVERY = 5
RIVAL_S = 30


def _kill(child: Child, folder: Path, draw: random.Random) -> bool:
    """Kills a process at a random moment; returns False if it had ended by then."""
    if draw.random() < 2 / 3:
        wait_for_trials(folder, len(trials(folder)) + 1)
    seconds = draw.uniform(0, LONGEST_S)
    try:
        child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return True
    return False


def _where(folder: Path) -> list[str]:
    """The folder to resume, or to create if a kill came before its plan was written."""
    begun = (folder / "plan.json").exists()
    return ["--resume", "r"] if begun else ["--out", "r", "--seed", "11"]


def _check_rival(tlslab: Tlslab, arguments: list[str]) -> None:
    """Two processes on one folder: one opens it, the other reports the conflict in one line."""
    both = [tlslab.start(*arguments, "--resume", "r") for _ in range(2)]
    deadline = time.monotonic() + RIVAL_S
    while all(child.poll() is None for child in both) and time.monotonic() < deadline:
        time.sleep(0.05)
    ended = [child for child in both if child.poll() is not None]
    said = [child.communicate()[1] for child in ended]
    for child in both:
        if child not in ended:
            child.kill()
            child.communicate()
    assert len(ended) == 1, f"neither or both ended: {said}"
    errors = [line for line in said[0].splitlines() if line.startswith("error: ")]
    assert ended[0].returncode == 3
    assert len(errors) == 1
    assert "is at work" in errors[0]


@pytest.mark.timeout(180 + 12 * KILLS)
def test_kills_at_random_moments_lose_nothing_and_count_nothing_twice(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    draw = random.Random(20_261_124)
    folder = tmp_path / "r"
    # More trials than the kills allow: each start runs two or three of them.
    arguments = ["run", small(blocks=3 * KILLS, measure_ms=150)]
    before: list[bytes] = []
    killed = rivals = 0
    for number in range(KILLS):
        begun = (folder / "plan.json").exists()
        where = _where(folder)
        killed += _kill(tlslab.start(*arguments, *where), folder, draw)
        tlslab.assert_nothing_left()
        after = trials(folder)
        assert after[: len(before)] == before
        before = after
        if begun and number % RIVAL_EVERY == 0:
            _check_rival(tlslab, arguments)
            rivals += 1
            tlslab.assert_nothing_left()
            after = trials(folder)
            assert after[: len(before)] == before
            before = after
    assert killed >= 0.9 * KILLS, "the run was over before the kills were"
    last = tlslab.start(*arguments, *_where(folder))
    ended = tlslab.finish(last, seconds=120 + 5 * KILLS)
    assert_finished(ended, folder)
    after = trials(folder)
    assert after[: len(before)] == before
    numbers = [json.loads(line)["trial"] for line in after]
    assert sorted(numbers) == list(range(6 * KILLS))
    assert list(tlslab.private.iterdir()) == []
    if KEPT:
        counts = {"kills": killed, "trials": len(numbers), "rivals": rivals}
        Path(KEPT).write_text(json.dumps(counts), "utf-8")


def test_a_line_that_a_kill_has_torn_is_no_trial(
    tlslab: Tlslab, small: Small, tmp_path: Path
) -> None:
    arguments = ["run", small(blocks=1)]
    assert_finished(tlslab.run(*arguments, "--out", "r", "--seed", "1"), tmp_path / "r")
    path = tmp_path / "r" / "trials.jsonl"
    whole = path.read_bytes()
    first, second, rest = whole.split(b"\n")
    assert rest == b""
    path.write_bytes(first + b"\n" + second[: len(second) // 2])
    assert_finished(tlslab.run(*arguments, "--resume", "r"), tmp_path / "r")
    kept = trials(tmp_path / "r")
    assert kept[0] == first
    assert [json.loads(line)["trial"] for line in kept] == [0, 1]
