"""The simulations of `make bench-coverage`: estimators, true values, and required coverages."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.coverage_costs import (
    elsewhere,
    held_out,
    mix,
    planned,
    sampled_part,
    start_variance,
    trial_variance,
)
from bench.coverage_pairs import (
    at_any_time,
    best,
    best_when_settled,
    effect,
    gate_bound,
    independent_runs,
    level_change,
    level_change_found,
    maxima,
    on_machines,
    paired,
    proof,
    ranks,
    settled,
)
from bench.coverage_series import (
    bend,
    ceiling_share,
    counted,
    flat,
    frozen,
    knee,
    law,
    means,
    memory_slope,
    queue_mean,
    queue_quantile,
    queue_quantile_ratio,
    shares,
    stein,
    tau,
    upper_ends,
    within_objective,
)
from bench.noise import Trial, autocorrelated, drifting, heavy, normal, piloted, skewed
from bench.queues import MD1, MG2, MM1


@dataclass(frozen=True)
class Short:
    """The reason that intervals of a row fall short of 95 %, in a sentence, and their coverage."""

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
    """A simulation. `at_least`: the bound is meant to hold in more than 95 %.

    `short`: the row is declared to fall short of the bar.
    """

    estimator: str
    truth: str
    trial: Trial
    at_least: bool = False
    short: Short | None = None


SEQUENCES = {
    "independent noise": normal(1),
    "heavy tails (t, 3)": heavy(1),
    "AR(1), 0.3 from block to block": autocorrelated(1, 0.3),
    "drift of 2 standard deviations": drifting(1),
    "first two blocks noisier (pilot)": piloted(1),
}

MEMORY = {
    "independent noise": normal(2e5),
    "heavy tails (t, 3)": heavy(2e5),
    "AR(1), 0.5 from level to level": autocorrelated(2e5, 0.5),
    "drift of 2 standard deviations": drifting(2e5),
}


def rows() -> Iterator[Row]:
    """All simulations."""
    yield from _means()
    yield from _ratios()
    yield from _choices()
    yield from _queues()
    yield from _curves()
    yield from _costs()
    for coefficient in (0.0, 0.6, 0.8):
        truth = f"AR(1), {coefficient:g} from slice to slice"
        yield Row("steady state: flat", truth, flat(coefficient), True)
    for name, noise in SEQUENCES.items():
        yield Row("confidence sequence, blocks 5 to 15", name, at_any_time(noise), True)


def _means() -> Iterator[Row]:
    for n in (3, 5):
        yield Row(f"mean of {n} trials", "independent noise", means(n, normal(0.03)))
    yield Row("mean of 10 trials", "independent noise", means(10, normal(0.03)), True)
    yield Row("mean of 5 trials", "heavy tails (t, 3)", means(5, heavy(0.03)))
    yield Row("mean of 5 trials", "skewed (exponential)", means(5, skewed(0.03)), short=SKEWED)
    correlated = means(5, autocorrelated(0.03, 0.3))
    yield Row("mean of 5 trials", "AR(1), 0.3 from trial to trial", correlated, short=DEPENDENT)
    yield Row("mean of 5 trials", "drift of 2 standard deviations", means(5, drifting(0.03)), True)
    yield Row("maximum by Stein's two stages", "noise 3 %", stein)
    yield Row("share, 5 trials", "40 %, log odds vary by 0.5", shares(5))
    for n, rate in ((10, 0.05), (60, 0.05), (60, 0.5)):
        yield Row(f"share of {n} tries", f"{100 * rate:g} %", counted(n, rate), True)
    for p in (50, 99):
        yield Row(f"resolution at p{p}, 800 instants", "normal", upper_ends(800, p), True)


def _ratios() -> Iterator[Row]:
    for n in (3, 5, 10):
        yield Row(f"ratio, {n} blocks", "blocks 5 %, trials 2 %", paired(n), n == 10)
    for truth, differ in (("3 equal machines", 0.0), ("3 machines, 3 % apart", 0.03)):
        trial = on_machines((3, 4, 3), differ)
        yield Row("ratio, 10 blocks of several machines", truth, trial, True)
    yield Row("effect of a factor, 6 blocks", "2 x 2 combinations", effect(6))
    for noise in (0.01, 0.02, 0.03):
        truth = f"5 % slower, trials {100 * noise:g} %"
        yield Row("ratio, run until 2 %", truth, settled(noise, 0.05), True)
    for noise in (0.02, 0.04):
        truth = f"trials {100 * noise:g} %"
        yield Row("ratio of two maxima, 5 to 8 repetitions", truth, maxima(noise))
    for blocks, other in ((5, 0.02), (5, 0.08), (10, 0.02)):
        truth = f"noise 2 % and {100 * other:g} %"
        trial = independent_runs(blocks, other)
        yield Row(f"ratio of two runs, {blocks} blocks each", truth, trial, True)
    trial = independent_runs(8, 0.02, anytime=True)
    yield Row("ratio of two runs until 2 %, 8 blocks each", "noise 2 % and 2 %", trial, True)
    yield Row("gate: one-sided bound, 5 blocks", "3 % slower", gate_bound(5))
    yield Row("gate: one-sided bound, 10 blocks", "3 % slower", gate_bound(10), True)
    yield Row("proof: all 8 ratios, 6 blocks", "each 1.05", proof(6), True)
    for runs in (5, 10):
        yield Row(f"change of level, {runs} runs each", "place known", level_change(runs))
    yield Row("change of level, 10 runs each", "place found", level_change_found(10))


def _choices() -> Iterator[Row]:
    for blocks in (5, 10):
        truth = "each 1 % behind the one before"
        yield Row(f"all ranks of 6 cells, {blocks} blocks", truth, ranks(blocks), True)
        yield Row(f"cells that may be the best of 4, {blocks} blocks", truth, best(blocks), True)
    for noise in (0.01, 0.03):
        truth = f"each 1 % behind the one before, trials {100 * noise:g} %"
        trial = best_when_settled(noise)
        yield Row("cells that may be the best of 4, run until 2 %", truth, trial, True)


def _queues() -> Iterator[Row]:
    for kind, load in ((MM1, 0.5), (MM1, 0.8), (MD1, 0.8), (MG2, 0.8)):
        name = f"{kind.name}, load {load:g}"
        yield Row("mean, 5 trials of 3,000", name, queue_mean(kind, load, 5, 3_000))
        for p in (50, 99):
            trial = queue_quantile(kind, load, 5, 3_000, p)
            yield Row(f"p{p}, 5 trials of 3,000", name, trial)
    busy = f"{MM1.name}, load 0.8"
    yield Row("p99, 10 trials of 3,000", busy, queue_quantile(MM1, 0.8, 10, 3_000, 99))
    yield Row("p99, 5 trials of 20,000", busy, queue_quantile(MM1, 0.8, 5, 20_000, 99))
    ratio = queue_quantile_ratio(MM1, 0.8, 5, 3_000, 99)
    yield Row("p99 of two runs, 5 trials of 3,000 each", busy, ratio, True)
    for name in ("mean", "p99"):
        yield Row(f"bend of the {name}, 3 runs of 8,000", MM1.name, bend(3, 8_000, name), True)
    yield Row("p99, 5 trials of 2,000", "frozen for a time", frozen(5), True)
    # The fewest values of a planned run; within 8 runs, as quick ones have.
    for kind, at in ((MM1, 0.7), (MM1, 0.95), (MD1, 0.7), (MD1, 0.95)):
        truth = f"{kind.name}: load {at:g}, 8,000 values"
        trial = within_objective(kind, 8_000, at, 8)
        yield Row("load within p99, not too high", truth, trial, True)


def _curves() -> Iterator[Row]:
    for part in ("per_one", "contention", "coherency", "peak_at", "peak"):
        yield Row(f"scalability law: {part}, 5 blocks", "noise 3 %", law(part, 5))
    for truth, together in (("a slow block costs more", -1.0), ("rates and costs rise", 1.0)):
        trial = ceiling_share(5, together)
        yield Row("peak over the processors' limit, 5 blocks", truth, trial)
    for blocks in (3, 5):
        yield Row(f"knee, {blocks} blocks", "plateau from 2 on", knee(blocks), True)
    yield Row("Kendall's tau, 6 blocks", "12 suites", tau(6), True)
    for levels in (3, 5):
        for name, noise in MEMORY.items():
            estimator = f"memory of a connection, {levels} levels"
            yield Row(estimator, name, memory_slope(levels, noise), True)


def _costs() -> Iterator[Row]:
    for blocks in (5, 8):
        yield Row(f"cost of a mix, {blocks} blocks", "parts add up", mix(blocks), blocks == 8)
    yield Row("model over measured, 5 blocks", "5 % off", held_out(5, 1.05))
    yield Row("planned cost, 5 blocks", "5 % off", planned(5, 1.05), True)
    for part in (0.02, 0.3):
        truth = f"{100 * part:g} % of the cost"
        yield Row("part by 3,000 samples, 5 blocks", truth, sampled_part(5, part), True)
    yield Row("effect outside its part, 5 blocks", "10 of 310 µs", elsewhere(5), True)
    yield Row("variance of a trial, 2 blocks", "4 starts, 5 cells each", trial_variance(2))
    yield Row("variance of a start, 2 blocks", "4 starts, 5 cells each", start_variance(2), True)
