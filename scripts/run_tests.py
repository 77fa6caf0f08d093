"""Runs the tests in stages (tests/stages.toml); needs only the standard library.

    run_tests.py test [STAGE...]  the stages of `make test`, or these
    run_tests.py all [STAGE...]   every stage, or these; keeps the outcome in tests/full-run.toml
    run_tests.py changed          the other stages whose files have changed since that, for .ci/run

`changed` keeps to a budget: CI_MINUTES since CI_STARTED (seconds since 1970). The stage whose files
have waited longest for a run comes first, and what the time does not suffice for is named. What it
ran at a commit without changes it keeps, too.
"""

import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from stages import ROOT, STAGES, Ended, Runner, Stage, counted, rows, say

FULL_RUN = ROOT / "tests" / "full-run.toml"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
# One line for each test that shows a capability: capability, test, seconds.
RECORDS = ROOT / "target" / "capabilities.tsv"

MINUTES = 45
# What no stage of .ci/run exceeds, whatever the budget.
MOST_MINUTES = 50
# For ending a stage at the limit, and for the last lines.
LAST_S = 40

# Makes what tests on real servers need.
BUILDS = "builds"

TABLE = ("<!-- capabilities: written by `make test-all` -->\n", "<!-- capabilities end -->\n")
HEAD = """\
# Written by `make test-all` and `make test-changed`: for each stage of tests/stages.toml its last
# run in which no test failed. `.ci/run` runs a stage again once its files have changed since then.
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
    RECORDS.parent.mkdir(exist_ok=True)
    # `make test` installs the browser, and root makes namespaces: tests of theirs are not skipped.
    os.environ.setdefault("TLSLAB_REQUIRE_BROWSER", "1")
    if os.geteuid() == 0:
        os.environ.setdefault("TLSLAB_REQUIRE_NAMESPACES", "1")
    if what == "changed":
        return _changed(stages)
    RECORDS.write_text("", "utf-8")
    wanted = [s for s in stages.values() if s.name in names or not names]
    if what == "test":
        some = _run([s for s in wanted if names or s.always], stages)
        return _close([each for these in some for each in these], [])
    return _all(wanted, stages)


def _all(wanted: Sequence[Stage], stages: Mapping[str, Stage]) -> int:
    """What passes is kept with the commit that it passed at."""
    commit = _clean_commit()
    if commit is None:
        say("error: what is kept is kept for a commit: commit the changes first")
        return 2
    ended: list[Ended] = []
    for some in _run(wanted, stages):
        ended += some
        if not keep(some, stages, commit):
            say("error: something was changed meanwhile; nothing more is kept")
            return 2
    if {"capabilities", "hosts"} <= {each.stage.name for each in ended if each.good}:
        write_table(RECORDS.read_text("utf-8").splitlines(), CONTRIBUTING)
    return _close(ended, [])


def _changed(stages: Mapping[str, Stage]) -> int:
    """The stages that a change touches, within the budget; the rest is named at the end."""
    minutes, started = os.environ.get("CI_MINUTES", ""), os.environ.get("CI_STARTED", "")
    try:
        began = time.monotonic() - time.time() + float(started or time.time())
        limit = began + 60 * MOST_MINUTES
        budget = min(limit, began + 60 * float(minutes or MINUTES))
    except ValueError:
        say(f"error: CI_MINUTES and CI_STARTED are numbers, and not: {minutes} {started}")
        return 2
    commit, kept = _clean_commit(), read_full_run(FULL_RUN)
    ended: list[Ended] = []
    left_out = []
    waiting = due(stages, kept)

    def needed(stage: Stage) -> int:
        # A stage may have become slower since its kept run.
        return max(kept[stage.name].seconds if stage.name in kept else 0, stage.seconds)

    while waiting:
        stage, left = waiting[0], max(0, round(budget - time.monotonic()))
        fits = [each for each in waiting if needed(each) <= left]
        if stage not in fits:
            waiting.remove(stage)
            left_out.append(f"{stage.name}: takes about {needed(stage)} s, {left} s are left")
            continue
        # One that may run beside another that is due runs there.
        stage = next((each for each in fits if stage.name in each.beside), stage)
        beside = [each for each in fits if each.name in stage.beside]
        waiting = [each for each in waiting if each not in (stage, *beside)]
        some = Runner(RECORDS, ROOT).run([stage], beside, until=limit - LAST_S)
        left_out += [f"{e.stage.name}: had not ended after {e.seconds} s" for e in some if e.cut]
        ended += [each for each in some if not each.cut]
        if commit is not None:
            keep(some, stages, commit)
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
    try:
        _git("cat-file", "-e", f"{commit}^{{commit}}")
    except subprocess.CalledProcessError:
        return 0
    log = _git("log", "--reverse", "--format=%x00%ct", "--name-only", "--no-renames", f"{commit}..")
    for one in log.split("\0")[1:]:
        at, *files = one.splitlines()
        if stage.touched_by(files):
            return int(at)
    now = _git("diff", "--name-only", "--no-renames", "HEAD")
    now += _git("ls-files", "--others", "--exclude-standard")
    return int(time.time()) if stage.touched_by(now.splitlines()) else None


def _clean_commit() -> str | None:
    """The commit of the files as they are, but for those that are written here; None for none."""
    written = [f":(exclude){path.relative_to(ROOT)}" for path in (FULL_RUN, CONTRIBUTING)]
    changed = _git("status", "--porcelain", "--", ".", *written)
    return None if changed else _git("rev-parse", "HEAD").strip()


def _run(wanted: Sequence[Stage], stages: Mapping[str, Stage]) -> Iterator[list[Ended]]:
    """Runs stages in order; one that runs beside others is not run by itself, too.

    Neighbours that have the same stages beside them run as a group.
    """
    if BUILDS in stages and any("tests/live" in stage.pytest for stage in wanted):
        wanted = [*wanted, *(() if stages[BUILDS] in wanted else (stages[BUILDS],))]
        wanted = sorted(wanted, key=list(stages.values()).index)
    aside = {name for stage in wanted for name in stage.beside}
    first = [stage for stage in wanted if stage.name not in aside]
    for names, group in groupby(first, key=lambda stage: stage.beside):
        beside = [each for each in wanted if each.name in names]
        for some in [list(group)] if beside else [[stage] for stage in group]:
            yield Runner(RECORDS, ROOT).run(some, beside)


def _close(ended: Iterable[Ended], left_out: Sequence[str]) -> int:
    """Prints what ran, what was left out, and the runner's closing lines; returns the exit code."""
    ended = list(ended)
    file = os.environ.get(STAGES)
    table = Path(file).read_text("utf-8").splitlines() if file else []
    for each in ended:
        again = [f"; passed at the second attempt only: {name}" for name in each.second_attempt]
        table.append(f"{each.seconds}\t{each.stage.title}{''.join(again)}\t{each.line}")
    if file:
        Path(file).write_text("".join(f"{line}\n" for line in table), "utf-8")
    say("\n== seconds of each stage")
    cells = [line.split("\t") for line in table]
    for seconds, title, *_ in cells:
        say(f"{seconds:>6}  {title}")
    for line in left_out:
        say(f"left out: {line}")
    bad = [each for each in ended if not each.good]
    for each in bad:
        say(f"failed: {each.stage.name} (exit code {each.code})")
    lines = [line for _, _, *counts in cells for line in counts if line]
    for line in lines:
        say(line)
    say(counted("\n".join(line.partition(": ")[2] for line in lines)).line("all"))
    return 1 if bad else 0


def read_full_run(path: Path) -> dict[str, Kept]:
    """The kept runs by the names of their stages; none if there is no such file."""
    if not path.exists():
        return {}
    found = tomllib.loads(path.read_text("utf-8")).get("stages", {})
    return {name: Kept(row["commit"], row["seconds"]) for name, row in found.items()}


def keep(ended: Sequence[Ended], stages: Mapping[str, Stage], commit: str) -> bool:
    """Writes the rows of good stages anew; False if the files are not those of the commit."""
    if _clean_commit() != commit:
        return False
    old = tomllib.loads(FULL_RUN.read_text("utf-8")) if FULL_RUN.exists() else {}
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    kept = {name: row for name, row in old.get("stages", {}).items() if name in stages}
    again = {name: list(days) for name, days in old.get("passed_at_second_attempt", {}).items()}
    for each in (one for one in ended if one.good):
        kept[each.stage.name] = {
            "commit": commit, "date": today, "seconds": each.seconds,
            "passed": each.counts.passed, "skipped": each.counts.skipped,
        }  # fmt: skip
        for name in each.second_attempt:
            again.setdefault(name, []).append(today)
    FULL_RUN.write_text(_full_run(kept, again, stages), "utf-8")
    return True


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
        ["git", "-c", "core.quotePath=false", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # However this is ended, it ends the stage that runs.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        raise SystemExit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
