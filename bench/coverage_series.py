"""Simulations of one cell or one series: trials, queues, fits, knees, slopes, steady states."""

import math
from collections.abc import Callable

import numpy as np
import scipy

from bench.noise import Draw, Noise, Trial, autocorrelated, cell, holds
from bench.queues import MM1, Array, Kind, response_times
from tlslab.analysis.benchmark.curves import make_curves
from tlslab.analysis.benchmark.processors import costs
from tlslab.analysis.capacity.bend import BEND, bend_of
from tlslab.analysis.capacity.points import capacity
from tlslab.analysis.stats.estimate import estimate, ratio_of, two_stage_estimate
from tlslab.analysis.stats.latency import quantiles
from tlslab.analysis.stats.scaling import find_knee, fit_law, law_value
from tlslab.analysis.stats.share import proportion_interval, share
from tlslab.analysis.stats.slope import slope
from tlslab.analysis.stats.steady_state import classify
from tlslab.domain.capacity import Objective
from tlslab.domain.distribution import Distribution
from tlslab.domain.estimates import (
    CLIENT_COST,
    OPERATION_COST,
    OPERATIONS,
    SERVER_COST,
    SIGNERS_COST,
)
from tlslab.domain.loads import LoadRun, loads_of, long_enough_s
from tlslab.domain.two_stage import repetitions
from tlslab.experiment.next_load import next_fraction
from tlslab.lab.resolution import upper_end
from tlslab.studies.suites.orders import order_correlation

# The number of a queue's runs simulated at a time: several servers take a step for each arrival.
_AT_ONCE = 20


def means(n: int, noise: Noise) -> Trial:
    """The geometric mean of trials, around 1,000."""

    def trial(draw: Draw) -> bool | None:
        found = estimate((1000 * np.exp(noise(draw, n))).tolist(), "1/s")
        return holds(found.low, found.high, 1000.0)

    return trial


def shares(n: int) -> Trial:
    """The mean of a share of 40 %, one value from each trial; their log odds vary by 0.5."""

    def trial(draw: Draw) -> bool | None:
        odds = math.log(0.4 / 0.6) + draw.normal(0, 0.5, n)
        found = share((1 / (1 + np.exp(-odds))).tolist())
        return holds(found.low, found.high, 0.4)

    return trial


def counted(n: int, rate: float) -> Trial:
    """The share of N tries with a certain outcome, each with probability `rate`."""
    return lambda draw: holds(*proportion_interval(int(draw.binomial(n, rate)), n), rate)


def upper_ends(n: int, p: int) -> Trial:
    """The upper end of the interval of a quantile of N differences, as of a resolution."""
    quantile = p / 100
    truth = float(scipy.stats.norm.ppf(quantile))
    return lambda draw: upper_end(draw.normal(0, 1, n), quantile) >= truth


def _histogram(times: Array) -> Distribution:
    """The times with two decimals, as a histogram has them."""
    values, counts = np.unique(np.round(times, 2), return_counts=True)
    return Distribution(values.astype(np.float64), counts.astype(np.int64))


def _queue(kind: Kind, load: float, trials: int, n: int) -> Callable[[Draw], Array]:
    """The response times of one run after the other, a row for each trial."""
    waiting: list[Array] = []

    def times(draw: Draw) -> Array:
        if not waiting:
            whole = response_times(kind, load, trials * _AT_ONCE, n, draw)
            waiting.extend(np.split(whole, _AT_ONCE))
        return waiting.pop()

    return times


def queue_mean(kind: Kind, load: float, trials: int, n: int) -> Trial:
    """The mean response time: over connections in each trial, then over trials, as reported."""
    times = _queue(kind, load, trials, n)

    def trial(draw: Draw) -> bool | None:
        found = estimate(times(draw).mean(axis=1).tolist(), "ms")
        return holds(found.low, found.high, kind.mean(load))

    return trial


def queue_quantile(kind: Kind, load: float, trials: int, n: int, p: int) -> Trial:
    """A quantile of the response time, over the merged histograms of the trials."""
    times, truth = _queue(kind, load, trials, n), kind.quantile(load, p / 100)

    def trial(draw: Draw) -> bool | None:
        found = quantiles("x", [_histogram(each) for each in times(draw)])[0].get(f"x_p{p}")
        return None if found is None else holds(found.low, found.high, truth)

    return trial


def queue_quantile_ratio(kind: Kind, load: float, trials: int, n: int, p: int) -> Trial:
    """The ratio of a quantile in two runs of the same queue."""
    times = _queue(kind, load, trials, n)

    def trial(draw: Draw) -> bool | None:
        first, second = (
            quantiles("x", [_histogram(each) for each in times(draw)])[0][f"x_p{p}"]
            for _ in range(2)
        )
        found = ratio_of(second, first, "ratio", "")
        return holds(found.low, found.high, 1.0)

    return trial


def bend(trials: int, n: int, name: str) -> Trial:
    """The bend of the response time in M/M/1, at a fifth and four fifths, and where it truly is."""
    at = 1 - (1 - 0.2) / BEND
    runs = {load: _queue(MM1, load, trials, n) for load in (0.2, at, 0.8)}

    def trial(draw: Draw) -> bool | None:
        times = {load: queue(draw) for load, queue in runs.items()}
        if name == "mean":
            found = {f: estimate(each.mean(axis=1).tolist(), "ms") for f, each in times.items()}
        else:
            found = {
                f: quantiles("x", [_histogram(run) for run in each])[0][f"x_{name}"]
                for f, each in times.items()
            }
        begins = bend_of(name, found, None)
        return begins.before < at and (begins.onward is None or begins.onward > at)

    return trial


def frozen(trials: int) -> Trial:
    """The p99 of a server that answers in 1 ms, and is frozen for a second once in each trial of 20
    s.

    3 % of its response times are drawn evenly from a second.
    """

    def trial(draw: Draw) -> bool | None:
        parts = []
        for _ in range(trials):
            late = draw.random(2_000) < 0.03
            times = np.where(late, draw.uniform(0, 1000, 2_000), draw.normal(1, 0.05, 2_000))
            parts.append(_histogram(times))
        found = quantiles("x", parts)[0]["x_p99"]
        return holds(found.low, found.high, 1000 * (1 - 0.01 / 0.03))

    return trial


def within_objective(kind: Kind, n: int, at: float, most: int) -> Trial:
    """The highest load of a queue whose p99 meets an objective, by a search of `most` runs.

    `at` is that load; the maximum from which the search starts was measured with an error of 5 %.
    Whether the server keeps up is not simulated: a growing queue is seen by its times alone. True
    if the answer is not above `at`.
    """
    objective = Objective("p99", kind.quantile(at, 0.99))

    def trial(draw: Draw) -> bool | None:
        maximum = math.exp(draw.normal(0, 0.05))
        runs: list[LoadRun] = []
        while True:
            fraction = next_fraction(loads_of(runs, objective), most - len(runs))
            if fraction is None:
                break
            load = fraction * maximum
            times = _histogram(response_times(kind, load, 1, n, draw)[0])
            runs.append(LoadRun(fraction, load, long_enough_s(objective), times, "kept up", True))
        found = capacity(loads_of(runs, objective))
        return found.load.value <= at if found is not None and found.is_confirmed else None

    return trial


def law(part: str, blocks: int) -> Trial:
    """A parameter of the scalability law, over seven concurrencies."""
    truth = (300.0, 0.08, 0.002)
    at = math.sqrt(0.92 / 0.002)
    wanted = dict(zip(("per_one", "contention", "coherency"), truth, strict=True))
    wanted |= {"peak_at": at, "peak": law_value(truth, at)}

    def trial(draw: Draw) -> bool | None:
        made = [
            {
                n: law_value(truth, n) * float(np.exp(draw.normal(0, 0.03)))
                for n in (1, 2, 4, 8, 16, 24, 32)
            }
            for _ in range(blocks)
        ]
        found = fit_law(made)
        each = None if found is None else getattr(found, part)
        return None if each is None else holds(each.low, each.high, wanted[part])

    return trial


def ceiling_share(blocks: int, together: float) -> Trial:
    """The fitted peak of signatures over the processors' limit.

    Blocks differ by 5 %. `together`: the correlation of their costs with their rates: -1 if a slow
    block has high costs, 1 if both rise.
    """
    law, general, signing = (300.0, 0.08, 0.002), 500.0, 1000.0
    truth = law_value(law, math.sqrt(0.92 / 0.002)) * (general + signing) / 2e6

    def trial(draw: Draw) -> bool | None:
        level = draw.normal(0, 0.05, blocks)

        def each(value: float, follow: float) -> Array:
            return np.asarray(value * np.exp(follow * level + draw.normal(0, 0.02, blocks)))

        cells = []
        for n in (1, 2, 4, 8, 16, 24, 32):
            factors = {"runtime": "jdk", "benchmark": "sign", "keys": "cluster", "threads": str(n)}
            values = {
                OPERATIONS: each(law_value(law, n), 1.0),
                OPERATION_COST: each(general, together),
                SIGNERS_COST: each(signing, together),
            }
            cells.append(cell(str(n), values, factors))
        (found,) = costs(make_curves(cells), 2)
        part = found.ceiling_share
        return None if part is None else holds(part.low, part.high, truth)

    return trial


def memory_slope(levels: int, noise: Noise) -> Trial:
    """4,000 bytes per connection over levels of connections, a process of 5 MB."""

    def trial(draw: Draw) -> bool | None:
        x = [1000 * (i + 1) for i in range(levels)]
        y = [round(5e6 + 4000 * n + e) for n, e in zip(x, noise(draw, levels), strict=True)]
        found = slope("server", x, y)
        return holds(found.low, found.high, 4000.0)

    return trial


def knee(blocks: int) -> Trial:
    """The knee of a plateau from 2 on."""

    def trial(draw: Draw) -> bool | None:
        made = [
            {n: 100 * min(n, 2) * float(np.exp(draw.normal(0, 0.03))) for n in (1, 2, 4, 8, 16)}
            for _ in range(blocks)
        ]
        found = find_knee(made)
        return None if found is None else holds(found.at.low, found.at.high, 2)

    return trial


def stein(draw: Draw) -> bool | None:
    """The maximum, repeated until its interval should be 4 % wide, by its first five values."""
    first = (1000 * np.exp(draw.normal(0, 0.03, 5))).tolist()
    more = repetitions(first, 0.04, 50) - 5
    values = [*first, *(1000 * np.exp(draw.normal(0, 0.03, more))).tolist()]
    found = two_stage_estimate(values, "1/s", 5)
    return holds(found.low, found.high, 1000.0)


def tau(blocks: int) -> Trial:
    """Kendall's tau of two orders of 12 suites, 5 % of noise."""
    draw_once = np.random.default_rng(1)
    one = draw_once.normal(0, 0.1, 12)
    other = 0.7 * one + 0.5 * draw_once.normal(0, 0.1, 12)
    truth = float(scipy.stats.kendalltau(one, other).statistic)

    def trial(draw: Draw) -> bool | None:
        cells = []
        for number, logs in enumerate(zip(one, other, strict=True)):
            values = {
                name: np.exp(log + draw.normal(0, 0.05, blocks))
                for name, log in zip((SERVER_COST, CLIENT_COST), logs, strict=True)
            }
            cells.append(cell(f"suite {number}", values, {"suite": f"suite {number}"}))
        found = order_correlation(cells, SERVER_COST, CLIENT_COST)
        return None if found is None else holds(found.low, found.high, truth)

    return trial


def flat(coefficient: float) -> Trial:
    """The label of 50 slices of a steady rate, with AR(1) noise of 2 %."""
    noise = autocorrelated(0.02, coefficient)
    return lambda draw: classify((1000 * np.exp(noise(draw, 50))).tolist()) == "flat"
