"""`make bench-coverage`: how often does an interval of 95 % hold what is true?

Each row simulates a server or a scalability law whose answer is known, puts the values through the
functions that judge real runs, and counts the intervals that hold the answer. The command writes
docs/validity-coverage.md. `--simulations N` is the number for each row, `--check` writes nothing.
Exit codes: 0 every row holds 95 +- 1.5 %, or more where its bound is conservative, or what it is
declared to hold where it is declared to fall short; 1 one does not.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from bench.queues import MD1, MG2, MM1, Array, Kind, response_times
from bench.validity_file import ROOT
from tlslab.analysis.benchmark.cells import CLIENT_CPU, SIGNERS_CPU
from tlslab.analysis.benchmark.cells import RATE as OPERATIONS
from tlslab.analysis.benchmark.curves import make_curves
from tlslab.analysis.benchmark.processors import costs
from tlslab.analysis.compare import Measured
from tlslab.analysis.stats import sequence
from tlslab.analysis.stats.estimate import estimate, mean_interval, two_stage_estimate
from tlslab.analysis.stats.latency import Distribution, quantiles
from tlslab.analysis.stats.proportion import proportion_interval
from tlslab.analysis.stats.scaling import find_knee, fit_law, law_value
from tlslab.analysis.stats.slope import slope
from tlslab.analysis.stats.steady_state import classify
from tlslab.analysis.studies.suites.orders import order_correlation
from tlslab.analysis.studies.suites.places import CLIENT_HANDSHAKE, HANDSHAKE
from tlslab.model.finding import CellSummary
from tlslab.model.two_stage import repetitions

PAGE = ROOT / "docs" / "validity-coverage.md"

SIMULATIONS = 2_000
WANTED, WITHIN = 0.95, 0.015

Draw = np.random.Generator
# Whether an interval holds what is true; None where the estimator gives none.
Trial = Callable[[Draw], bool | None]


@dataclass(frozen=True)
class Short:
    """Why intervals of a row fall short of 95 %, in a sentence, and the share that they hold."""

    reason: str
    least: float


DEPENDENT = Short(
    "Trials that depend on each other (AR(1)) make every interval over trials too narrow. Blocks "
    "in random order, fresh processes and ratios within blocks are there to keep trials "
    "independent; a drift of the machine makes the interval of a mean wider, and not narrower.",
    0.87,
)
SKEWED = Short(
    "Few trials of a skewed quantity: Student's interval takes noise for symmetric.", 0.87
)


@dataclass(frozen=True)
class Row:
    """A simulation. `at_least`: the bound is meant to hold more often than 95 %.

    `share`: of the simulations that are asked for, where each takes long.
    `short`: the row is declared to fall short of the bar.
    """

    estimator: str
    truth: str
    trial: Trial
    at_least: bool = False
    share: float = 1.0
    short: Short | None = None


@dataclass(frozen=True)
class Result:
    """How many of the intervals of a row hold what is true."""

    row: Row
    runs: int
    held: int
    none: int = 0

    @property
    def coverage(self) -> float:
        """The share of intervals that hold it."""
        return self.held / self.runs if self.runs else 0.0

    @property
    def met(self) -> bool:
        """Whether the bar is met, as far as the number of simulations can say.

        The bar of a row that is declared to fall short is what it is declared to hold.
        """
        low, high = proportion_interval(self.held, self.runs)
        if self.row.short is not None:
            return high >= self.row.short.least
        if self.row.at_least:
            return high >= WANTED
        return high >= WANTED - WITHIN and low <= WANTED + WITHIN

    @property
    def verdict(self) -> str:
        """In words."""
        low, high = proportion_interval(self.held, self.runs)
        if not self.met:
            return "below the bar" if self.coverage < WANTED else "wider than it needs to be"
        if self.row.short is not None and high < WANTED - WITHIN:
            return "below the bar, as declared"
        inside = low >= WANTED - WITHIN and (self.row.at_least or high <= WANTED + WITHIN)
        return "met" if inside else "not refuted"


def run(row: Row, simulations: int, seed: int = 1) -> Result:
    """Simulates a row."""
    draw = np.random.default_rng([seed, *row.estimator.encode(), *row.truth.encode()])
    count = max(20, round(simulations * row.share))
    found = [each for each in (row.trial(draw) for _ in range(count)) if each is not None]
    return Result(row, len(found), sum(found), count - len(found))


def _holds(found: tuple[float | None, float | None] | None, truth: float) -> bool | None:
    if found is None or found[0] is None or found[1] is None:
        return None
    return found[0] <= truth <= found[1]


def means(n: int, noise: Callable[[Draw, int], np.ndarray]) -> Trial:
    """The geometric mean of trials, around 1,000."""

    def trial(draw: Draw) -> bool | None:
        found = estimate((1000 * np.exp(noise(draw, n))).tolist(), "1/s")
        return _holds((found.low, found.high), 1000.0)

    return trial


def ratios(n: int) -> Trial:
    """The ratio of two cells, 1.1, paired by block."""

    def trial(draw: Draw) -> bool | None:
        block, one, other = draw.normal(0, (0.05, 0.02, 0.02), (n, 3)).T
        logs = (block + one + math.log(1.1)) - (block + other)
        return _holds(mean_interval(logs, "log ratios")[1], math.log(1.1))

    return trial


def _histogram(times: Array) -> Distribution:
    """The times with two decimals, as a histogram has them."""
    values, counts = np.unique(np.round(times, 2), return_counts=True)
    return Distribution(values.astype(np.float64), counts.astype(np.int64))


def queue_mean(kind: Kind, load: float, trials: int, n: int) -> Trial:
    """The mean response time, one value from each trial."""

    def trial(draw: Draw) -> bool | None:
        times = response_times(kind, load, trials, n, draw)
        # The arithmetic mean over connections, as the report's; over trials as they are.
        found = mean_interval(times.mean(axis=1), "values")[1]
        return _holds(found, kind.mean(load))

    return trial


def queue_quantile(kind: Kind, load: float, trials: int, n: int, p: int) -> Trial:
    """A quantile of the response time, over the merged histograms of the trials."""
    truth = kind.quantile(load, p / 100)

    def trial(draw: Draw) -> bool | None:
        parts = []
        for each in response_times(kind, load, trials, n, draw):
            parts.append(_histogram(each))
        found = quantiles("x", parts)[0].get(f"x_p{p}")
        return None if found is None else _holds((found.low, found.high), truth)

    return trial


def frozen(trials: int) -> Trial:
    """p99 of a server that answers in 1 ms, and is frozen for a second once in each trial of 20 s:
    3 % of its response times are drawn evenly from a second.
    """

    def trial(draw: Draw) -> bool | None:
        parts = []
        for _ in range(trials):
            late = draw.random(2_000) < 0.03
            times = np.where(late, draw.uniform(0, 1000, 2_000), draw.normal(1, 0.05, 2_000))
            parts.append(_histogram(times))
        found = quantiles("x", parts)[0]["x_p99"]
        return _holds((found.low, found.high), 1000 * (1 - 0.01 / 0.03))

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
        return None if each is None else _holds((each.low, each.high), wanted[part])

    return trial


def ceiling_share(blocks: int, together: float) -> Trial:
    """The fitted peak of signatures over the processors' limit.

    Blocks differ by 5 %. `together`: how their costs follow their rates: -1 where a slow block has
    high costs, 1 where both rise.
    """
    law, general, signing = (300.0, 0.08, 0.002), 500.0, 1000.0
    truth = law_value(law, math.sqrt(0.92 / 0.002)) * (general + signing) / 2e6

    def trial(draw: Draw) -> bool | None:
        level = draw.normal(0, 0.05, blocks)

        def each(value: float, follow: float) -> dict[int, float]:
            logs = follow * level + draw.normal(0, 0.02, blocks)
            return dict(enumerate((value * np.exp(logs)).tolist()))

        cells = []
        for n in (1, 2, 4, 8, 16, 24, 32):
            factors = {"runtime": "jdk", "benchmark": "sign", "keys": "cluster", "threads": str(n)}
            values = {
                OPERATIONS: each(law_value(law, n), 1.0),
                CLIENT_CPU: each(general, together),
                SIGNERS_CPU: each(signing, together),
            }
            cells.append(Measured(CellSummary(str(n), factors, "valid", (), blocks, {}), values))
        (found,) = costs(make_curves(cells), 2)
        share = found.ceiling_share
        return None if share is None else _holds((share.low, share.high), truth)

    return trial


def memory_slope(levels: int, noise: Callable[[Draw, int], np.ndarray]) -> Trial:
    """4,000 bytes per connection over levels of connections, a process of 5 MB."""

    def trial(draw: Draw) -> bool | None:
        x = [1000 * (i + 1) for i in range(levels)]
        y = [round(5e6 + 4000 * n + e) for n, e in zip(x, noise(draw, levels), strict=True)]
        found = slope("server", x, y)
        return _holds((found.low, found.high), 4000.0)

    return trial


def knee(blocks: int) -> Trial:
    """The knee of a plateau from 2 on."""

    def trial(draw: Draw) -> bool | None:
        made = [
            {n: 100 * min(n, 2) * float(np.exp(draw.normal(0, 0.03))) for n in (1, 2, 4, 8, 16)}
            for _ in range(blocks)
        ]
        found = find_knee(made)
        return None if found is None else _holds((found.at.low, found.at.high), 2)

    return trial


def stein(draw: Draw) -> bool | None:
    """The maximum, repeated until its interval should be 4 % wide, by its first five values."""
    first = (1000 * np.exp(draw.normal(0, 0.03, 5))).tolist()
    more = repetitions(first, 0.04, 50) - 5
    values = [*first, *(1000 * np.exp(draw.normal(0, 0.03, more))).tolist()]
    found = two_stage_estimate(values, "1/s", 5)
    return _holds((found.low, found.high), 1000.0)


def at_any_time(noise: Callable[[Draw, int], np.ndarray]) -> Trial:
    """The confidence sequence, looked at after each of the blocks 5 to 15."""

    def trial(draw: Draw) -> bool:
        data = noise(draw, 15)
        # It holds at n exactly when the evidence against 0 is below 20.
        return all(sequence.evidence(data[:n]) < 20 for n in range(5, 16))

    return trial


def normal(sd: float) -> Callable[[Draw, int], np.ndarray]:
    """Independent noise."""
    return lambda draw, n: draw.normal(0, sd, n)


def heavy(sd: float) -> Callable[[Draw, int], np.ndarray]:
    """Student's t with 3 degrees of freedom."""
    return lambda draw, n: sd * draw.standard_t(3, n)


def skewed(sd: float) -> Callable[[Draw, int], np.ndarray]:
    """Exponential, centred."""
    return lambda draw, n: sd * (draw.exponential(1, n) - 1)


def autocorrelated(sd: float, coefficient: float) -> Callable[[Draw, int], np.ndarray]:
    """AR(1), stationary."""

    def noise(draw: Draw, n: int) -> np.ndarray:
        found = draw.normal(0, sd, n)
        found[0] /= math.sqrt(1 - coefficient**2)
        for i in range(1, n):
            found[i] += coefficient * found[i - 1]
        return found

    return noise


def drifting(sd: float) -> Callable[[Draw, int], np.ndarray]:
    """Noise on a line that rises by two standard deviations, its mean 0."""
    return lambda draw, n: draw.normal(0, sd, n) + sd * np.linspace(-1, 1, n)


SEQUENCES = {
    "independent noise": normal(1),
    "heavy tails (t, 3)": heavy(1),
    "AR(1), 0.3 from block to block": autocorrelated(1, 0.3),
    "drift of 2 standard deviations": drifting(1),
}


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
                name: dict(enumerate(np.exp(log + draw.normal(0, 0.05, blocks)).tolist()))
                for name, log in zip((HANDSHAKE, CLIENT_HANDSHAKE), logs, strict=True)
            }
            key = f"suite {number}"
            cells.append(
                Measured(CellSummary(key, {"suite": key}, "valid", (), blocks, {}), values)
            )
        found = order_correlation(cells, HANDSHAKE, CLIENT_HANDSHAKE)
        return None if found is None else _holds((found.low, found.high), truth)

    return trial


def flat(coefficient: float) -> Trial:
    """The label of 50 slices of a steady rate, with AR(1) noise of 2 %."""
    noise = autocorrelated(0.02, coefficient)
    return lambda draw: classify((1000 * np.exp(noise(draw, 50))).tolist()) == "flat"


MEMORY = {
    "independent noise": normal(2e5),
    "heavy tails (t, 3)": heavy(2e5),
    "AR(1), 0.5 from level to level": autocorrelated(2e5, 0.5),
    "drift of 2 standard deviations": drifting(2e5),
}


def rows() -> Iterator[Row]:
    """All simulations."""
    for n, share in ((3, 1.0), (5, 1.0), (10, 0.1)):
        yield Row(f"mean of {n} trials", "independent noise", means(n, normal(0.03)), share=share)
    yield Row("mean of 5 trials", "heavy tails (t, 3)", means(5, heavy(0.03)))
    yield Row("mean of 5 trials", "skewed (exponential)", means(5, skewed(0.03)), short=SKEWED)
    correlated = means(5, autocorrelated(0.03, 0.3))
    yield Row("mean of 5 trials", "AR(1), 0.3 from trial to trial", correlated, short=DEPENDENT)
    yield Row("mean of 5 trials", "drift of 2 standard deviations", means(5, drifting(0.03)), True)
    for n in (3, 5):
        yield Row(f"ratio, {n} blocks", "blocks 5 %, trials 2 %", ratios(n))
    yield from _queues()
    for part in ("per_one", "contention", "coherency", "peak_at", "peak"):
        yield Row(f"scalability law: {part}, 5 blocks", "noise 3 %", law(part, 5), share=0.1)
    for truth, together in (("a slow block costs more", -1.0), ("rates and costs rise", 1.0)):
        trial = ceiling_share(5, together)
        yield Row("peak over the processors' limit, 5 blocks", truth, trial, share=0.1)
    for blocks in (3, 5):
        yield Row(f"knee, {blocks} blocks", "plateau from 2 on", knee(blocks), True, share=0.25)
    yield Row("Kendall's tau, 6 blocks", "12 suites", tau(6), True, share=0.25)
    for name, noise in MEMORY.items():
        yield Row("memory of a connection, 5 levels", name, memory_slope(5, noise), True)
    yield Row("maximum by Stein's two stages", "noise 3 %", stein)
    for coefficient in (0.0, 0.6, 0.8):
        truth = f"AR(1), {coefficient:g} from slice to slice"
        yield Row("steady state: flat", truth, flat(coefficient), True, share=0.1)
    for name, noise in SEQUENCES.items():
        yield Row("confidence sequence, blocks 5 to 15", name, at_any_time(noise), True)


def _queues() -> Iterator[Row]:
    for kind, load in ((MM1, 0.5), (MM1, 0.8), (MD1, 0.8), (MG2, 0.8)):
        name = f"{kind.name}, load {load:g}"
        yield Row("mean, 5 trials of 3,000", name, queue_mean(kind, load, 5, 3_000), share=0.25)
        for p in (50, 99):
            trial = queue_quantile(kind, load, 5, 3_000, p)
            yield Row(f"p{p}, 5 trials of 3,000", name, trial, share=0.25)
    busy = f"{MM1.name}, load 0.8"
    many = queue_quantile(MM1, 0.8, 10, 3_000, 99)
    yield Row("p99, 10 trials of 3,000", busy, many, share=0.25)
    long = queue_quantile(MM1, 0.8, 5, 20_000, 99)
    yield Row("p99, 5 trials of 20,000", busy, long, share=0.1)
    yield Row("p99, 5 trials of 2,000", "frozen for a time", frozen(5), True, share=0.25)


_HEAD = """\
# How often does "95 %" hold?

`make bench-coverage` simulates servers and curves with known answers, puts their values through
the functions that judge real runs, and counts the intervals that hold the answer. The command
writes this page.

The bar is 95 ± 1.5 %. Bounds that are conservative by their construction may hold more often: they
are marked ≥. In brackets: the exact 95 % interval of the share, by the number of simulations. "No
interval" counts simulations in which the estimator gives none. "Not refuted": the interval of the
share reaches beyond the bar, so that more simulations would be needed to call it met. Rows that
take long have a share of the simulations that are asked for: 2,000, or those of
`python -m bench.coverage --simulations N`.

| estimator | truth | simulations | no interval | holds | bar |
|---|---|---|---|---|---|
"""

_REASONS = """
Rows that are declared to fall short, with what they are known to hold at least. `make
bench-coverage` ends with 1 when they hold less, or when another row misses the bar.

"""

_TAIL = """
p99 of a busy queue was below the bar, too: late connections come in clumps, so that 3,000 values
hold few independent ones, and order statistics held 71 to 87 %. The interval by the trials' shares
(Woodruff 1952) knows that.
"""


def _declared(results: list[Result]) -> Iterator[str]:
    """Which rows are declared to fall short, and why, each in a line of Markdown."""
    for each in results:
        row = each.row
        if row.short is not None:
            least = f"{100 * row.short.least:g} %"
            yield f"- {row.estimator}, {row.truth} ({least}). {row.short.reason}\n"


def page(results: list[Result]) -> str:
    """The page, in Markdown."""
    lines = []
    for each in results:
        low, high = proportion_interval(each.held, each.runs)
        mark = "≥ " if each.row.at_least else ""
        lines.append(
            f"| {each.row.estimator} | {each.row.truth} | {each.runs + each.none:,} | "
            f"{each.none or ''} | {100 * each.coverage:.1f} % ({100 * low:.1f} to "
            f"{100 * high:.1f}) | {mark}{each.verdict} |"
        )
    declared = "".join(_declared(results))
    return _HEAD + "\n".join(lines) + "\n" + (_REASONS + declared if declared else "") + _TAIL


def main() -> int:
    """Simulates all rows and writes the page; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.coverage")
    parser.add_argument("--simulations", type=int, default=SIMULATIONS, help="of each row")
    parser.add_argument("--check", action="store_true", help="write no page")
    asked = parser.parse_args()
    results = []
    for row in rows():
        results.append(run(row, asked.simulations))
        last = results[-1]
        print(f"{row.estimator}; {row.truth}: {100 * last.coverage:.1f} %", flush=True)
    if not asked.check:
        PAGE.write_text(page(results), "utf-8")
    return 0 if all(each.met for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
