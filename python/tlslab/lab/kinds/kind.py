"""One object for each kind of experiment, with the part of each stage."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tlslab.analysis import Analyst
from tlslab.domain import events
from tlslab.domain.experiment import Experiment
from tlslab.domain.registry import Registry
from tlslab.experiment import FileKind
from tlslab.lab.foresee import Foreseen
from tlslab.lab.request import Request, Result
from tlslab.lab.required_parts import Part
from tlslab.report.presentations import Presentation


@dataclass(frozen=True)
class Kind:
    """Everything that differs between kinds of experiments.

    `file` reads and writes experiment files and applies options. `foresee` plans a run without
    carrying it out. `parts` names additional parts that the run may need. `conduct` carries it out.
    `analyse` makes the summary with its figures, tables and sentences. `presentation` defines its
    report. `sampled`: --why can sample its cells, after their trials. `several_generators`: its
    load may come from several hosts.
    """

    name: str
    file: FileKind
    foresee: Callable[[Request], Foreseen]
    parts: Callable[[Request], Iterable[Part]]
    conduct: Callable[[Request, events.Observer], Result]
    analyse: Analyst
    presentation: Presentation
    sampled: bool = False
    several_generators: bool = True


KINDS: Registry[Kind] = Registry()


def kind_of(experiment: Experiment) -> Kind:
    """The kind of an experiment."""
    return KINDS[experiment.kind]
