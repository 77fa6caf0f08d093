"""Trials against a server that a command configures for each cell.

The command gets the cell's group or suite, and configures the server. The client offers all levels
of the experiment, so that the server chooses. Before the trial, the lab checks that the server
accepts only the cell's level, or prefers it. After the trial, the lab checks that every connection
negotiated it.
"""

import datetime
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tlslab.lab.conductor import RunTrial
from tlslab.lab.deployments import DEFAULT_GROUPS
from tlslab.lab.engine import Engine
from tlslab.lab.probing import probe_spec
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.lab.trial import Bench
from tlslab.model.errors import EngineError
from tlslab.model.experiment import Experiment
from tlslab.model.names import find_group, find_suite
from tlslab.model.plan import Cell, PlannedTrial
from tlslab.model.probe import Probed
from tlslab.model.profile import Profile
from tlslab.model.record import Facts, Reason, Trial
from tlslab.targets.external import Hook, HookError

HOOK_FAILED = "hook_failed"
NOT_READY = "not_ready"
MISCONFIGURED = "misconfigured"

# The interval between two questions to a server that restarts.
ASK_EVERY_S = 0.25

# The server is ready after N right answers in a row: while a server reads its configuration anew,
# processes with the old configuration and processes with the new one may both answer.
RIGHT_ANSWERS = 3

# What a server can choose; the fields of a profile have the plurals of these names.
Chosen = Literal["group", "suite"]
CHOICES: tuple[Chosen, ...] = ("group", "suite")


@dataclass(frozen=True)
class Choice:
    """A factor that the server decides, the cell's level, and all that the client offers."""

    factor: Chosen
    level: str
    offered: tuple[str, ...]

    def of(self, facts: Facts) -> str:
        """The level that a connection negotiated."""
        return (facts.group if self.factor == "group" else facts.suite) or "none"

    def offer(self, profile: Profile, levels: tuple[str, ...]) -> Profile:
        """The profile with these levels of the factor, in their order."""
        if self.factor == "group":
            return replace(profile, groups=levels)
        return replace(profile, suites=levels)

    @property
    def others(self) -> tuple[str, ...]:
        """All offered levels but the cell's."""
        return tuple(level for level in self.offered if level != self.level)


def hooked(hook: Hook, ready_s: float, experiment: Experiment, run: RunTrial) -> RunTrial:
    """A way to run trials that lets the command configure the server before each.

    When the command fails, or the server does not fit the cell in `ready_s` seconds, the trial
    fails, and nothing else.
    """

    def run_hooked(bench: Bench, planned: PlannedTrial, cell: Cell, on_rate: object) -> Trial:
        choices = find_choices(hook, experiment, cell)
        try:
            hook.run(cell.factors)
        except HookError as error:
            return _failed(planned, cell, Reason(HOOK_FAILED, error.message))
        # The probe before the first trial met another configuration of the server.
        bench = replace(bench, probed=Probed())
        if words := _await(bench, cell, choices, ready_s):
            return _failed(planned, cell, Reason(NOT_READY, words))
        trial = run(bench, planned, _opened(cell, choices), on_rate)  # type: ignore[arg-type]
        words = _against(trial, choices)
        return _failed(planned, cell, Reason(MISCONFIGURED, words)) if words else trial

    return run_hooked


def find_choices(hook: Hook, experiment: Experiment, cell: Cell) -> tuple[Choice, ...]:
    """What the command leaves the server to choose in this cell."""
    choices = []
    for factor in CHOICES:
        level = cell.factors.get(factor)
        if level is None or factor not in hook.fields:
            continue
        levels = experiment.levels(factor)
        if factor == "group" and len(levels) == 1:
            levels = DEFAULT_GROUPS
        fitting = (other for other in levels if _fits(factor, other, cell.profile.tls))
        choices.append(Choice(factor, level, tuple(dict.fromkeys((level, *fitting)))))
    return tuple(choices)


def _fits(factor: Chosen, level: str, tls: str | None) -> bool:
    """Whether a version of TLS has a group or suite."""
    if factor == "group":
        group = find_group(level)
        return not (group and group.tls13_only and tls == "1.2")
    suite = find_suite(level)
    return tls is None or suite is None or suite.tls == tls


def _opened(cell: Cell, choices: tuple[Choice, ...]) -> Cell:
    """The cell as the client offers it: all levels, the cell's first, so that the server accepts
    the key share.
    """
    profile = cell.profile
    for choice in choices:
        profile = choice.offer(profile, choice.offered)
    return replace(cell, profile=profile)


def _await(bench: Bench, cell: Cell, choices: tuple[Choice, ...], seconds: float) -> str | None:
    """Asks the server until RIGHT_ANSWERS answers in a row fit the cell; else the last error."""
    deadline = time.monotonic() + seconds
    right = 0
    while True:
        words = _question(bench, cell, choices)
        right = right + 1 if words is None else 0
        if right == RIGHT_ANSWERS:
            return None
        if words is not None and time.monotonic() >= deadline:
            return f"{seconds:g} s after the command {words}"
        time.sleep(ASK_EVERY_S)


def _question(bench: Bench, cell: Cell, choices: tuple[Choice, ...]) -> str | None:
    """The reason that the server does not fit the cell yet; None when it is ready."""
    http = bench.workload.of(cell.factors).http
    try:
        found, _ = bench.engine.preflight(preflight_spec(bench.aim, cell.profile, http))
        for choice in choices:
            if choice.of(found.facts) != choice.level:
                return f"the server negotiates {choice.of(found.facts)}, not {choice.level}"
            if words := _undecided(bench.engine, bench.aim, cell, choice, http):
                return words
    except EngineError as error:
        return f"the server does not answer as the cell asks: {error.message}"
    return None


def _undecided(engine: Engine, aim: Aim, cell: Cell, choice: Choice, http: str) -> str | None:
    """Why the server may choose another level; None if it accepts only the cell's, or prefers it.

    The server prefers the cell's level if it takes the level even when the level is offered last.
    For a group in TLS 1.3 this check is impossible: the first group has the key share.
    """
    others = replace(cell, profile=choice.offer(cell.profile, choice.others))
    offers = engine.probe(probe_spec(aim, [others])).offers
    if not choice.others or (offers and not offers[0].accepted):
        return None
    if choice.factor == "group" and cell.profile.tls != "1.2":
        return f"the server takes other groups than {choice.level}, too"
    last = choice.offer(cell.profile, (*choice.others, choice.level))
    found, _ = engine.preflight(preflight_spec(aim, last, http))
    taken = choice.of(found.facts)
    return None if taken == choice.level else f"the server prefers {taken} to {choice.level}"


def _against(trial: Trial, choices: tuple[Choice, ...]) -> str | None:
    """Other levels than the cell's that connections negotiated; None without any."""
    for run in trial.runs.values():
        for choice in choices:
            counts: dict[str, int] = {}
            for facts in run.record.facts:
                taken = choice.of(facts)
                counts[taken] = counts.get(taken, 0) + facts.count
            wrong = {taken: count for taken, count in counts.items() if taken != choice.level}
            if wrong:
                return _reported(wrong, sum(counts.values()), choice.level)
    return None


def _reported(wrong: Mapping[str, int], total: int, level: str) -> str:
    others = ", ".join(f"{count} {taken}" for taken, count in wrong.items())
    return f"of {total} connections the server chose {others} instead of {level}"


def _failed(planned: PlannedTrial, cell: Cell, reason: Reason) -> Trial:
    return Trial(
        trial=planned.trial,
        block=planned.block,
        position=planned.position,
        cell=cell.key,
        factors=cell.factors,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        status="failed",
        reason=reason,
    )
