"""A preference among suites or groups for a server, in the form for emitters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tlslab.domain.deployment import NO_FRONT
from tlslab.domain.finding import Summary

Subject = Literal["suite", "group"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)


@dataclass(frozen=True)
class Preference:
    """The preferred suites or groups for a server, best first.

    `server`: the program on which they were measured. `equals`: the names that cannot be told apart
    from the first one by the measurement; `left_open`: by how much they may differ, in words.
    `head`: sentences for the head of the file.
    """

    subject: Subject
    server: str
    names: tuple[str, ...]
    equals: frozenset[str] = frozenset()
    left_open: str = ""
    head: tuple[str, ...] = ()


def subject_of(summary: Summary) -> Subject | None:
    """The compared factor for which a server can be given a preference.

    None for other experiments.
    """
    if not summary.rankings:
        return None
    for subject in SUBJECTS:
        if len(summary.experiment.factors.get(subject, ())) > 1:
            return subject
    return None


def terminator(setting: Mapping[str, str], target: str) -> str:
    """The program that speaks TLS: the front, if there is one."""
    front = setting.get("front", NO_FRONT)
    return front if front != NO_FRONT else setting.get("server", target)
