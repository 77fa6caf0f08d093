"""Whether an open loop kept to its schedule, from made-up times."""

import numpy as np
import pytest

from bench.open_loop import (
    RATE,
    Punctuality,
    anderson_darling,
    punctuality,
)


def made(
    arrivals: str,
    late_us: float = 20.0,
    random: bool = True,
    busy_us: float = 0.0,
    tick_us: float = 0.0,
) -> Punctuality:
    """Five seconds of arrivals, each started this late; evenly spaced unless random.

    A start takes `busy_us`, during which no other can begin, and waits for the next tick of a
    clock.
    """
    generator = np.random.default_rng(1)
    count = 5 * RATE
    distances = generator.exponential(1e9 / RATE, count) if random else np.full(count, 1e9 / RATE)
    intended = np.cumsum(distances).astype(np.int64)
    started = intended + np.int64(late_us * 1e3)
    for number in range(1, count):
        started[number] = max(started[number], started[number - 1] + round(busy_us * 1e3))
    if tick_us:
        tick = round(tick_us * 1e3)
        started = (started + tick - 1) // tick * tick
    loop = {"offered_per_s": float(RATE), "achieved_per_s": float(RATE)}
    record = {"cpu": {"user_us": 900_000, "system_us": 100_000}, "seconds": 5.0, "open_loop": loop}
    return punctuality(arrivals, record, intended, started)


def test_a_punctual_run_meets_every_bar() -> None:
    found = made("poisson")
    assert found.delay_p99_us == pytest.approx(20.0)
    assert found.client_share == pytest.approx(0.2)
    assert len(found.bars()) == 4
    assert all(found.bars().values())
    assert list(made("constant", random=False).bars().values()) == [True, True]


def test_arrivals_that_are_not_random_do_not_pass_for_it() -> None:
    assert list(made("poisson", random=False).bars().values()) == [True, True, False, False]


def test_the_test_sees_a_wrong_distribution_in_a_thousand_distances() -> None:
    generator = np.random.default_rng(2)
    right, critical = anderson_darling(generator.exponential(1.0, 1000))
    wrong, _ = anderson_darling(generator.gamma(2.0, 0.5, 1000))
    assert right <= critical < wrong
