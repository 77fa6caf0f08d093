"""Experiment files: TOML in, `domain.experiment.Experiment` out, and back; then its plan.

docs/reference describes the format. `files` reads and writes what all files have; `file_kinds` has
the kinds of experiments, each with tables of its own. A `[quick]` table
may repeat `blocks`, `factors` and a kind's tables with the values that a quick run takes instead.
`cells` makes cells and exclusions with reasons, `order` the seeded order of trials.
"""

from tlslab.experiment.cells import make_cells
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.files import SCHEMA, Form, at_url, dumps, load, loads, shipped, with_levels
from tlslab.experiment.kinds import FILE_KINDS, file_kind
from tlslab.experiment.order import Refuse, make_plan, refuse_levels
from tlslab.experiment.question import measures_in, mix_in, question

__all__ = [
    "FILE_KINDS",
    "SCHEMA",
    "FileKind",
    "Form",
    "Refuse",
    "at_url",
    "dumps",
    "file_kind",
    "load",
    "loads",
    "make_cells",
    "make_plan",
    "measures_in",
    "mix_in",
    "question",
    "refuse_levels",
    "shipped",
    "with_levels",
]
