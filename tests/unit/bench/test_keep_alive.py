"""The bars of requests on open connections."""

import pytest

from bench.child import Busy, Run
from bench.generators import Counted
from bench.keep_alive import NEW, OLD, OURS, RIVALS, bars, best
from bench.results import Results, Sample

NOISE = (1.00, 1.02, 0.99, 1.01)


def results(**costs: float) -> Results:
    """Processor time per request in microseconds, by generator."""
    names = {"old": OURS[OLD], "new": OURS[NEW], "wrk": "wrk", "h1": "h2load --h1", "h2": "h2load"}
    found = Results(rivals=[*RIVALS[OLD], *RIVALS[NEW]])
    for key, name in names.items():
        for block, noise in enumerate(NOISE):
            cpu_us = costs[key] * noise * 1000
            run = Run("", 0, 1.0, 0.6 * cpu_us, 0.4 * cpu_us, Busy(1.0, 0.5, 1.0))
            found.add(name, block, Sample(run, Counted(1000, 0)))
    return found


@pytest.mark.parametrize(
    ("costs", "met"),
    [
        ({"old": 7, "new": 9, "wrk": 10, "h1": 12, "h2": 13}, [True, True]),
        ({"old": 8, "new": 9, "wrk": 14, "h1": 10, "h2": 13}, [False, True]),
        ({"old": 7, "new": 11, "wrk": 10, "h1": 12, "h2": 13}, [True, False]),
    ],
)
def test_each_version_is_held_against_its_best_rival(
    costs: dict[str, float], met: list[bool]
) -> None:
    found = results(**costs)
    assert [bar.met for bar in bars(found)] == met
    assert best(found, OLD) == ("wrk" if costs["wrk"] < costs["h1"] else "h2load --h1")
    assert best(found, NEW) == "h2load"
