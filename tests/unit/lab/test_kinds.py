"""Kinds of experiments: each stage has a row for each; no other code depends on the kind."""

import re
from pathlib import Path

import pytest

import tlslab
from tlslab.analysis import ANALYSTS
from tlslab.experiment import FILE_KINDS, load, shipped
from tlslab.lab.kinds import KINDS, kind_of

PACKAGE = Path(tlslab.__file__).parent

# Patterns of code that compares an experiment's kind, or the class of its settings.
ASKS = re.compile(
    r"experiment\.kind *(==|!=|in\b)(?! DEFAULT_KIND)"
    r"|isinstance\([^)]*(CapacityPlan|BenchmarkSettings|ProofSettings)"
)


def test_every_kind_has_all_its_parts() -> None:
    assert set(KINDS) == set(FILE_KINDS) == set(ANALYSTS)


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_experiment_has_a_kind(name: str) -> None:
    experiment = load(name)
    assert kind_of(experiment) is KINDS[experiment.kind]


def test_no_module_asks_which_kind_an_experiment_has() -> None:
    asking = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if ASKS.search(path.read_text("utf-8"))
    ]
    # Functions that give a kind's own modules the settings with their type.
    assert asking == ["domain/benchmark.py", "domain/capacity.py", "domain/proof_settings.py"]
