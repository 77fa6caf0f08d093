"""Little's law over simulated servers: correct times pass, wrong ones do not."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from factories.run import made_run
from tlslab.contract.record import FlightTimes, Outcomes, RunRecord
from tlslab.domain.run_faults import run_faults
from tlslab.experiment import load, with_levels

Array = npt.NDArray[np.float64]

# The measurement, in seconds of the simulation.
START, END = 1.0, 4.0


@dataclass(frozen=True)
class World:
    """One server, exponential times between arrivals and of service; it may pause."""

    per_s: float = 400.0
    load: float = 0.7
    frozen: tuple[float, float] = (99.0, 99.0)
    lost_syns: float = 0.0


WORLDS = {
    "M/M/1": World(),
    "M/M/1, nearly full": World(load=0.98),
    "overloaded": World(load=1.5),
    "frozen in the middle": World(frozen=(2.0, 3.0)),
    "frozen to the end": World(frozen=(2.0, 99.0)),
    "SYNs sent again": World(lost_syns=0.4),
}


def lives(world: World, rng: np.random.Generator) -> tuple[Array, Array]:
    """The start and end of each connection."""
    count = round(world.per_s * END)
    began = np.cumsum(rng.exponential(1 / world.per_s, count))
    again = rng.random(count) < world.lost_syns
    came = began + np.where(again, rng.choice([1.0, 3.0, 7.0], count), 0.0)
    ended = np.empty(count)
    free = 0.0
    for index in np.argsort(came):
        free = max(free, float(came[index])) + float(rng.exponential(world.load / world.per_s))
        if world.frozen[0] <= free < world.frozen[1]:
            free = world.frozen[1]
        ended[index] = free
    return began, ended


@cache
def base() -> RunRecord:
    """A record that receives the simulation."""
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519",)}
    run = made_run(experiment=with_levels(load("groups"), few))
    return run.trials[0].runs["capacity"].record


def measured(world: World, seed: int) -> tuple[RunRecord, Array]:
    """The engine's counts of the simulation, and the times of completed connections in seconds."""
    began, ended = lives(world, np.random.default_rng(seed))
    seen = (began < END) & (ended >= START)
    began, ended = began[seen], ended[seen]
    done = ended < END
    flight = FlightTimes(
        within_s=float((np.minimum(ended, END) - np.maximum(began, START)).sum()),
        before_s=float(np.maximum(START - began, 0).sum()),
        troubled_s=0.0,
        unfinished_s=float((END - began[~done]).sum()),
    )
    completed = int(done.sum())
    outcomes = Outcomes(len(began), completed, len(began) - completed, {}, {})
    record = replace(base(), outcomes=outcomes, seconds=END - START, flight=flight)
    return record, ended[done] - began[done]


def codes(record: RunRecord, times: Array) -> list[str]:
    """The faults of a run with these service times."""
    service = record.summaries["service"]
    service = replace(service, n=len(times), mean_ms=float(times.mean()) * 1e3)
    record = replace(record, summaries={**record.summaries, "service": service})
    return [fault.code for fault in run_faults("capacity", record)]


@pytest.mark.parametrize("name", WORLDS)
def test_right_times_are_not_doubted_and_wrong_ones_are(name: str) -> None:
    for seed in range(10):
        record, times = measured(WORLDS[name], seed)
        assert codes(record, times) == [], seed
        assert codes(record, times[1:]) == ["littles_law"], seed
        assert codes(record, times / 2) == ["littles_law"], seed
        assert codes(record, times * 1.05) == ["littles_law"], seed
        assert codes(record, np.minimum(times, np.median(times))) == ["littles_law"], seed
