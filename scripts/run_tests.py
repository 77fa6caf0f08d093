"""Runs the tests in stages (tests/stages.toml); needs only the standard library.

    run_tests.py test [STAGE...]  the stages of `make test`, or these
    run_tests.py all [STAGE...]   every stage, or these; keeps the outcome in tests/full-run.toml
    run_tests.py changed          the other stages whose files have changed since that, for .ci/run

`changed` keeps to a budget: CI_MINUTES since CI_STARTED (seconds since 1970). The stage whose files
have waited longest for a run comes first, and what the time does not suffice for is named.
"""

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stages import ROOT, Ended, Runner, Stage, rows, say

FULL_RUN = ROOT / "tests" / "full-run.toml"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
# One line for each test that shows a capability: seconds, capability, test.
RECORDS = ROOT / "target" / "capabilities.tsv"
# A line for each stage of .ci/run that has ended: seconds, title, and its counts, if it has any.
STAGES = "TLSLAB_STAGES"

MINUTES = 45
# What .ci/run never exceeds, whatever its budget.
MOST_MINUTES = 50
# For ending a stage at the limit, and for the last lines.
LAST_S = 40

TABLE = ("<!-- capabilities: written by `make test-all` -->\n", "<!-- capabilities end -->\n")
HEAD = """\
# Written by `make test-all`: for each stage of tests/stages.toml its last run in which all tests
# passed. `.ci/run` runs a stage again once its files have changed since that commit.
# `passed_at_second_attempt` has each test that failed first, with the days. After the third time it
# is mended at its cause, and its line goes.
"""


@dataclass(frozen=True)
class Kept:
    """What tests/full-run.toml has of a stage's last good run."""

    commit: str
    seconds: int


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0 if all tests passed, 1 if not, 2 for wrong usage."""
    stages = rows()
    what, names = "".join(arguments[:1]), arguments[1:]
    if what not in ("test", "all", "changed") or (what == "changed" and names):
        say(f"error: run_tests.py test|all [STAGE...], or changed, and not: {' '.join(arguments)}")
        return 2
    if unknown := set(names) - set(stages):
        say(f"error: no stage {', '.join(sorted(unknown))}; there are: {' '.join(stages)}")
        return 2
    wanted = [stage for stage in stages.values() if stage.name in names or not names]
    RECORDS.parent.mkdir(exist_ok=True)
    if what == "changed":
        return _changed(stages)
    RECORDS.write_text("", "utf-8")
    if what == "test":
        return _close(_run([stage for stage in wanted if names or stage.always]), [])
    return _all(wanted, stages)


def _all(wanted: Sequence[Stage], stages: Mapping[str, Stage]) -> int:
    """What passes is kept with the commit that it passed at."""
    if changed := _git("status", "--porcelain"):
        say("error: what is kept is kept for a commit: commit these changes first\n" + changed)
        return 2
    ended = _run(wanted)
    keep([each for each in ended if each.good], stages)
    return _close(ended, [])


def _changed(stages: Mapping[str, Stage]) -> int:
    """The stages that a change touches, within the budget; the rest is named at the end."""
    began = time.monotonic() - time.time() + float(os.environ.get("CI_STARTED", time.time()))
    limit = began + 60 * MOST_MINUTES
    budget = min(limit, began + 60 * float(os.environ.get("CI_MINUTES", MINUTES)))
    kept = read_full_run(FULL_RUN)
    ended: list[Ended] = []
    left_out = []
    waiting = due(stages, kept)
    while waiting:
        stage = waiting.pop(0)
        needed = kept[stage.name].seconds if stage.name in kept else stage.seconds
        left = max(0, round(budget - time.monotonic()))
        if needed > left:
            left_out.append(f"{stage.name}: takes about {needed} s, {left} s are left")
            continue
        beside = [each for each in waiting if each.name in stage.beside]
        waiting = [each for each in waiting if each not in beside]
        for one in Runner(RECORDS, ROOT).run(stage, beside, until=limit - LAST_S):
            if one.code is None:
                left_out.append(f"{one.stage.name}: had not ended after {one.seconds} s")
            else:
                ended.append(one)
    return _close(ended, left_out)


def due(stages: Mapping[str, Stage], kept: Mapping[str, Kept]) -> list[Stage]:
    """The stages beyond `make test` whose files have changed since their last kept run.

    The one whose oldest change is the oldest comes first; those that never ran come before.
    """
    waiting: list[tuple[int, Stage]] = []
    for stage in stages.values():
        if stage.always:
            continue
        since = _waits_since(stage, kept[stage.name].commit) if stage.name in kept else 0
        if since is not None:
            waiting.append((since, stage))
    return [stage for _, stage in sorted(waiting, key=lambda each: each[0])]


def _waits_since(stage: Stage, commit: str) -> int | None:
    """When the first change after a commit was made that touches a stage; None for no change.

    In seconds since 1970; 0 if the commit is not in this clone.
    """
    if subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    ).returncode:
        return 0
    log = _git("log", "--reverse", "--format=%x00%ct", "--name-only", f"{commit}..HEAD")
    for one in log.split("\0")[1:]:
        at, *files = one.split()
        if stage.touched_by(files):
            return int(at)
    return int(time.time()) if stage.touched_by(_uncommitted()) else None


def _uncommitted() -> list[str]:
    return [line[3:] for line in _git("status", "--porcelain").splitlines()]


def _run(wanted: Sequence[Stage]) -> list[Ended]:
    """Runs stages in order; one that runs beside another is not run by itself, too."""
    aside = {name for stage in wanted for name in stage.beside}
    ended: list[Ended] = []
    for stage in (each for each in wanted if each.name not in aside):
        beside = [each for each in wanted if each.name in stage.beside]
        ended += Runner(RECORDS, ROOT).run(stage, beside)
    return ended


def _close(ended: Iterable[Ended], left_out: Sequence[str]) -> int:
    """Prints what ran, what was left out, and the runner's closing lines; returns the exit code."""
    ended = list(ended)
    file = os.environ.get(STAGES)
    before = Path(file).read_text("utf-8").splitlines() if file else []
    lines = [f"{each.seconds}\t{each.stage.title}\t{each.line}" for each in ended]
    if file:
        Path(file).write_text("".join(f"{line}\n" for line in [*before, *lines]), "utf-8")
    say("\n== seconds of each stage")
    table = [line.split("\t") for line in [*before, *lines]]
    for seconds, title, *_ in table:
        say(f"{seconds:>6}  {title}")
    for name in (name for each in ended for name in each.second_attempt):
        say(f"passed at the second attempt only: {name}")
    for line in left_out:
        say(f"left out: {line}")
    bad = [each for each in ended if not each.good]
    for each in bad:
        say(f"failed: {each.stage.name} (exit code {each.code})")
    for line in (line for _, _, *counts in table for line in counts if line):
        say(line)
    return 1 if bad else 0


def read_full_run(path: Path) -> dict[str, Kept]:
    """The kept runs by the names of their stages; none if there is no such file."""
    if not path.exists():
        return {}
    found = tomllib.loads(path.read_text("utf-8")).get("stages", {})
    return {name: Kept(row["commit"], row["seconds"]) for name, row in found.items()}


def keep(ended: Sequence[Ended], stages: Mapping[str, Stage]) -> None:
    """Writes the rows of these stages anew; the others stay as they are."""
    old = tomllib.loads(FULL_RUN.read_text("utf-8")) if FULL_RUN.exists() else {}
    commit, today = _git("rev-parse", "HEAD").strip(), f"{datetime.now(UTC):%Y-%m-%d}"
    kept = {name: row for name, row in old.get("stages", {}).items() if name in stages}
    for each in ended:
        counts = each.counts
        kept[each.stage.name] = {
            "commit": commit, "date": today, "seconds": each.seconds,
            "passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped,
        }  # fmt: skip
    again = {name: list(days) for name, days in old.get("passed_at_second_attempt", {}).items()}
    for name in (name for each in ended for name in each.second_attempt):
        again.setdefault(name, []).append(today)
    FULL_RUN.write_text(_full_run(kept, again, stages), "utf-8")
    write_table(RECORDS.read_text("utf-8").splitlines(), CONTRIBUTING)


def _full_run(
    kept: Mapping[str, Mapping[str, str | int]],
    again: Mapping[str, Sequence[str]],
    stages: Mapping[str, Stage],
) -> str:
    parts = [HEAD]
    for name in (name for name in stages if name in kept):
        values = (f"{key} = {_toml(value)}" for key, value in kept[name].items())
        parts.append("\n".join([f"\n[stages.{name}]", *values, ""]))
    parts.append("\n[passed_at_second_attempt]\n")
    parts += [f"{_toml(name)} = [{', '.join(map(_toml, days))}]\n" for name, days in again.items()]
    return "".join(parts)


def _toml(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_table(records: Iterable[str], document: Path) -> None:
    """Writes the table of capabilities between its two marks; no records leave it as it is."""
    found: dict[tuple[str, str], float] = {}
    for name, test, seconds in (line.split("\t") for line in records):
        row = name, test.partition("[")[0]
        found[row] = found.get(row, 0) + float(seconds)
    if not found:
        return
    lines = ["| capability | test | seconds |", "|---|---|---|"]
    lines += [
        f"| {name} | `{test}` | {seconds:.0f} |" for (name, test), seconds in sorted(found.items())
    ]
    text = document.read_text("utf-8")
    before, start, rest = text.partition(TABLE[0])
    _, end, after = rest.partition(TABLE[1])
    document.write_text(
        "".join([before, start, "\n", "\n".join(lines), "\n\n", end, after]), "utf-8"
    )


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
