"""Experiment files: TOML in, `model.experiment.Experiment` out, and back.

docs/reference describes the format. `files` reads and writes the parts common to all files,
`factors` knows the levels, `kinds` the kinds of experiments, each with tables of its own. A
`[quick]` table may repeat `blocks`, `factors` and a kind's tables with the values for a quick run.
"""

from tlslab.experiment import benchmark, capacity, costs, matrix, proof
from tlslab.experiment.files import SCHEMA, dumps, load, loads, shipped, with_levels
from tlslab.experiment.kinds import FILE_KINDS, FileKind, file_kind

__all__ = [
    "FILE_KINDS",
    "SCHEMA",
    "FileKind",
    "benchmark",
    "capacity",
    "costs",
    "dumps",
    "file_kind",
    "load",
    "loads",
    "matrix",
    "proof",
    "shipped",
    "with_levels",
]
