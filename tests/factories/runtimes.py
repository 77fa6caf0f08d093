"""Made-up runs of Java runtimes: servers that warm up, observed under overload."""

from dataclasses import replace

from factories.capacity import (
    WORKLOAD,
    CapacityWorld,
    Counts,
    Rates,
    drive,
    made_cell,
    made_plan,
)
from factories.run import World, environment
from tlslab.domain.capacity import OpenLoopRules, Step, WarmUpRules
from tlslab.domain.experiment import Experiment, Factor
from tlslab.domain.plan import Cell, Plan
from tlslab.domain.run import RunContents
from tlslab.domain.trial import PaceSample, Trial
from tlslab.domain.workload import Window

SECOND = Window(warmup_ms=0, measure_ms=1000)
RULES = WarmUpRules(connections=16, most=20, window=SECOND, steady=3, width=0.05)
PLAN = replace(made_plan(), warm_up=RULES, open_loop=OpenLoopRules((0.5, 1.2), 2, 400, SECOND))


class Warming(CapacityWorld):
    """A server whose first runs are slower: half the rate at first, then gradually faster."""

    seen = 0

    def rates(self, connections: Counts) -> Rates:
        slower: Rates = super().rates(connections) * (1 - 0.5 ** (1 + self.seen / 2))
        return slower

    def trial(self, step: Step, cell: Cell, number: int) -> Trial:
        self.seen = 40 if step.stage != "warm_up" else step.repetition
        return super().trial(step, cell, number)


def made_runtime(jdk: str, world: CapacityWorld) -> tuple[Cell, list[Trial]]:
    """Tomcat on a Java runtime, and its trials, each with the server's pace by seconds."""
    cell = made_cell(server="tomcat", jdk=jdk, connector="jsse")
    pace = tuple(PaceSample(float(at), 100.0, 10 * at, at, 5.0, 9.0) for at in range(1, 5))
    trials = [
        replace(t, runs={kind: replace(run, pace=pace) for kind, run in t.runs.items()})
        for t in drive(PLAN, world, cell)
    ]
    return cell, trials


def made_runtimes_run() -> RunContents:
    """A whole run of two Java runtimes, of which one warms up slowly."""
    worlds = {"jdk-17": Warming(seed=1), "jdk-25": CapacityWorld(alone=1800.0, seed=2)}
    made = [made_runtime(jdk, world) for jdk, world in worlds.items()]
    cells = tuple(cell for cell, _ in made)
    plan = Plan(1, 1, cells, (), ())
    experiment = Experiment(
        name="runtimes",
        title="Which Java runtime?",
        factors=(
            Factor("server", ("tomcat",)),
            Factor("jdk", tuple(worlds)),
            Factor("connector", ("jsse",)),
        ),
        baseline={"connector": "jsse"},
        workload=WORKLOAD,
        blocks=1,
        published="tomcat-2008",
        kind="capacity",
        settings=PLAN,
    )
    trials = tuple(trial for _, each in made for trial in each)
    where = replace(
        environment(World(target="tomcat"), plan),
        command=("tlslab", "run", "runtimes"),
        generator_processors=(3,),
    )
    return RunContents(experiment, plan, where, trials)
