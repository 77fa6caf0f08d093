"""Trials against a server that a command configures for each cell.

The command gets the cell's group or suite; the client offers all levels of the experiment, so that
the server decides. Before the trial, the lab checks that the server accepts only the cell's level
or prefers it. On every connection of the trial, it checks that the server chose this level.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tlslab.contract.record import Facts
from tlslab.domain.errors import EngineError
from tlslab.domain.experiment import Experiment
from tlslab.domain.names import find_group, find_suite
from tlslab.domain.plan import Cell, PlannedTrial
from tlslab.domain.profile import Profile
from tlslab.domain.trial import Reason, Trial
from tlslab.domain.wording import counted
from tlslab.lab.deployments import DEFAULT_GROUPS
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.matrix.agenda import RunTrial
from tlslab.lab.probing import Probed, probe_spec
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.lab.trial import Bench, failed_trial
from tlslab.servers.external import Hook, HookError

HOOK_FAILED = "hook_failed"
NOT_READY = "not_ready"
MISCONFIGURED = "misconfigured"

# The period of questions to a server that restarts, in seconds.
ASK_EVERY_S = 0.25

# The server is ready after this many right answers in a row: while a server reloads its
# configuration, processes with the old one may still answer.
RIGHT_ANSWERS = 3

# The factors that a server can decide; the plurals are their fields in a profile.
Chosen = Literal["group", "suite"]
CHOICES: tuple[Chosen, ...] = ("group", "suite")


@dataclass(frozen=True)
class Choice:
    """A factor that the server decides, the cell's level, and all levels that the client offers."""

    factor: Chosen
    level: str
    offered: tuple[str, ...]

    def of(self, facts: Facts) -> str:
        """The choice on a connection."""
        return (facts.group if self.factor == "group" else facts.suite) or "none"

    def offer(self, profile: Profile, levels: tuple[str, ...]) -> Profile:
        """The profile with these levels of the factor, in their order."""
        if self.factor == "group":
            return replace(profile, groups=levels)
        return replace(profile, suites=levels)

    @property
    def others(self) -> tuple[str, ...]:
        """All offered levels except the cell's."""
        return tuple(level for level in self.offered if level != self.level)


def hooked(hook: Hook, ready_s: float, experiment: Experiment, run: RunTrial) -> RunTrial:
    """Runs trials, and before each the command that configures the server for its cell.

    If the command fails, or the server is not ready for the cell within `ready_s` seconds, only
    that trial has failed.
    """

    def run_hooked(bench: Bench, planned: PlannedTrial, cell: Cell, on_report: object) -> Trial:
        choices = find_choices(hook, experiment, cell)
        try:
            hook.run(cell.factors)
        except HookError as error:
            return failed_trial(planned, cell, Reason(HOOK_FAILED, error.message))
        # The findings before the first trial belong to another configuration.
        bench = replace(bench, probed=Probed())
        if words := _await(bench, cell, choices, ready_s):
            return failed_trial(planned, cell, Reason(NOT_READY, words))
        trial = run(bench, planned, _opened(cell, choices), on_report)  # type: ignore[arg-type]
        words = _against(trial, choices)
        return failed_trial(planned, cell, Reason(MISCONFIGURED, words)) if words else trial

    return run_hooked


def find_choices(hook: Hook, experiment: Experiment, cell: Cell) -> tuple[Choice, ...]:
    """The choices that the command leaves to the server in this cell."""
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
    """Whether a version of TLS has the group or suite."""
    if factor == "group":
        group = find_group(level)
        return not (group and group.tls13_only and tls == "1.2")
    suite = find_suite(level)
    return tls is None or suite is None or suite.tls == tls


def _opened(cell: Cell, choices: tuple[Choice, ...]) -> Cell:
    """The cell with the client's offer: all levels, the cell's own first.

    With this order the server accepts the client's key share.
    """
    profile = cell.profile
    for choice in choices:
        profile = choice.offer(profile, choice.offered)
    return replace(cell, profile=profile)


def _await(bench: Bench, cell: Cell, choices: tuple[Choice, ...], seconds: float) -> str | None:
    """Asks the server until several answers in a row are right.

    Returns the remaining fault, if any.
    """
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
    """The reason that the server is not ready for this cell; None if it is."""
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


def _undecided(
    engine: GeneratorPool, aim: Aim, cell: Cell, choice: Choice, http: str
) -> str | None:
    """The reason that the level is not the server's choice; None if it accepts no other, or prefers
    it.

    The server prefers the cell's level if it takes the level when the client offers it last. For
    groups of TLS 1.3 this cannot be observed: the client sends a key share for its first group.
    """
    others = replace(cell, profile=choice.offer(cell.profile, choice.others))
    offers = engine.probe(probe_spec(aim, [others])).offers
    accepted = offers[0].accepted if offers else None
    if not choice.others or accepted is False:
        return None
    if accepted is None:
        return f"the server does not answer an offer without {choice.level}"
    if choice.factor == "group" and cell.profile.tls != "1.2":
        return f"the server takes other groups than {choice.level}, too"
    last = choice.offer(cell.profile, (*choice.others, choice.level))
    found, _ = engine.preflight(preflight_spec(aim, last, http))
    taken = choice.of(found.facts)
    return None if taken == choice.level else f"the server prefers {taken} to {choice.level}"


def _against(trial: Trial, choices: tuple[Choice, ...]) -> str | None:
    """The levels that connections negotiated instead of the cell's.

    None if all have the cell's level.
    """
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
    others = ", ".join(f"{count:,} {taken}" for taken, count in wrong.items())
    return f"of {counted(total, 'connection')} the server chose {others} instead of {level}"
