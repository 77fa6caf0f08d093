"""Experiment files: TOML in, `model.experiment.Experiment` out, and back.

docs/reference describes the format. `files` reads and writes what all files have, `factors` knows
the levels, `file_kinds` the kinds of experiments, each with tables of its own. A `[quick]` table
may repeat `blocks`, `factors` and a kind's tables with the values that a quick run takes instead.
"""

from tlslab.experiment import benchmark, capacity, costs, matrix, proof
from tlslab.experiment.file_kinds import FILE_KINDS, FileKind, file_kind
from tlslab.experiment.files import SCHEMA, dumps, load, loads, shipped, with_levels

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
