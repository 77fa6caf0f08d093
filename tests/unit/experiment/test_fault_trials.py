from dataclasses import replace

from factories.benchmarks import experiment
from tlslab.domain.experiment import Experiment
from tlslab.domain.plan import Plan
from tlslab.experiment import make_plan, with_levels
from tlslab.experiment.benchmark import add_faults


def planned(wanted: Experiment, seed: int = 1) -> Plan:
    return add_faults(make_plan(wanted, seed), wanted)


def test_each_block_ends_with_a_load_of_each_fault_and_policy() -> None:
    plan = planned(experiment())
    for block in range(5):
        last = [trial.cell for trial in plan.trials if trial.block == block][-4:]
        assert sorted(last) == sorted(cell.key for cell in plan.cells[-4:])
    assert [trial.trial for trial in plan.trials] == list(range(len(plan.trials)))
    assert plan == planned(experiment())
    assert plan != planned(experiment(), seed=2)


def test_loads_are_of_a_virtual_machine_through_the_cluster() -> None:
    wanted = experiment()
    assert len(planned(with_levels(wanted, {"keys": ("memory",)})).cells) == len(
        make_plan(with_levels(wanted, {"keys": ("memory",)}), 1).cells
    )
    engine = with_levels(wanted, {"runtime": ("engine",)})
    assert planned(engine) == make_plan(engine, 1)
    without = replace(wanted, settings=replace(wanted.settings, faults=None))
    assert planned(without) == make_plan(without, 1)
