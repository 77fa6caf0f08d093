"""Kinds of experiments: each is registered once per stage; no other code depends on the kind."""

import re
from pathlib import Path

import pytest

import tlslab
from tlslab.analysis import ANALYSTS
from tlslab.domain.registry import Registry
from tlslab.experiment import FILE_KINDS, load, shipped
from tlslab.lab.kinds import KINDS, kind_of
from tlslab.report.presentations import PRESENTATIONS

PACKAGE = Path(tlslab.__file__).parent

# Patterns of code that compares an experiment's kind, or the class of its settings.
ASKS = re.compile(
    r"experiment\.kind *(==|!=|in\b)(?! DEFAULT_KIND)"
    r"|isinstance\([^)]*(CapacityPlan|BenchmarkSettings|ProofSettings)"
)


def test_every_kind_has_all_its_parts() -> None:
    assert set(KINDS) == set(FILE_KINDS) == set(ANALYSTS) == set(PRESENTATIONS)
    assert all(kind.name == name for name, kind in KINDS.items())


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_experiment_has_a_kind(name: str) -> None:
    experiment = load(name)
    assert kind_of(experiment).file is FILE_KINDS[experiment.kind]


def test_a_name_is_registered_once() -> None:
    registry: Registry[int] = Registry()
    assert registry.register("one", 1) == 1
    with pytest.raises(ValueError, match="'one' is registered already"):
        registry.register("one", 2)
    assert dict(registry) == {"one": 1}


def test_no_module_asks_which_kind_an_experiment_has() -> None:
    asking = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if ASKS.search(path.read_text("utf-8"))
    ]
    # Functions that give a kind's own modules the settings with their type.
    assert asking == ["domain/benchmark.py", "domain/capacity.py", "domain/proof_settings.py"]
