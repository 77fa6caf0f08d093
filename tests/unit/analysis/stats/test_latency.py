"""Quantiles of merged histograms, their ranks and the values that they need."""

from dataclasses import replace

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from factories.histogram import HOUR_NS, encoded_histogram
from factories.run import made_run
from tlslab.analysis.compare import judged_together
from tlslab.analysis.overlay import independent
from tlslab.analysis.stats.latency import quantiles, rank_interval, times
from tlslab.contract.record import ClientTimes
from tlslab.domain.distribution import Distribution, needed_n
from tlslab.experiment import load, with_levels


def encoded(values_ms: np.ndarray) -> str:
    histogram = HdrHistogram(1, 3600 * 10**9, 3)
    for value in values_ms:
        histogram.record_value(int(value * 1e6))
    return str(histogram.encode().decode())


def test_a_decoded_histogram_holds_the_values_to_a_thousandth() -> None:
    values = np.random.default_rng(0).lognormal(2, 0.5, 5000)
    found = Distribution.decode(encoded(values))
    assert found.n == 5000
    assert found.mean() == pytest.approx(values.mean(), rel=1e-3)
    assert found.sd() == pytest.approx(values.std(), rel=2e-3)
    for p in (0.5, 0.9, 0.99):
        assert found.quantile(p) == pytest.approx(np.quantile(values, p), rel=5e-3)


@pytest.mark.parametrize(("least", "digits"), [(1, 3), (1, 2), (1000, 3), (5000, 1)])
def test_each_value_is_the_middle_that_hdrhistogram_gives(least: int, digits: int) -> None:
    histogram = HdrHistogram(least, 3600 * 10**9, digits)
    values = [1, 2, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 10**6, 123_456_789, 3600 * 10**9]
    for value in values:
        histogram.record_value(value)
    counted = {histogram._hdr_median_equiv_value(value) for value in values}
    found = Distribution.decode(str(histogram.encode().decode()))
    assert (found.values * 1e6).round().tolist() == sorted(counted)


def test_made_up_histograms_are_those_of_the_library() -> None:
    values = np.random.default_rng(3).lognormal(12, 2, 3000).astype(np.int64) + 1
    histogram = HdrHistogram(1, HOUR_NS, 3)
    for value in values:
        histogram.record_value(int(value))
    assert encoded_histogram(values) == histogram.encode().decode()


def test_merging_is_the_same_as_having_all_values_at_once() -> None:
    values = np.random.default_rng(1).lognormal(2, 0.5, 900)
    whole = Distribution.decode(encoded(values))
    parts = [Distribution.decode(encoded(part)) for part in np.split(values, 3)]
    merged = Distribution.merge(parts)
    assert merged.values.tolist() == whole.values.tolist()
    assert merged.counts.tolist() == whole.counts.tolist()
    assert Distribution.merge([]).n == 0


def test_a_quantile_needs_eight_values_beyond_it() -> None:
    assert [needed_n(p) for p in (0.5, 0.9, 0.95, 0.99)] == [16, 80, 160, 800]


def test_ranks_are_those_of_the_binomial_distribution() -> None:
    # n p -+ 1.96 sqrt(n p (1 - p)) = 500 -+ 30.99: floor, and ceiling plus one.
    assert rank_interval(1000, 0.5) == (469, 532)
    assert rank_interval(10, 0.99) == (9, 10)


@pytest.mark.simulation
def test_the_rank_interval_covers_the_median() -> None:
    rng = np.random.default_rng(2)
    low, high = rank_interval(200, 0.5)
    samples = np.sort(rng.random((2000, 200)), axis=1)
    inside = (samples[:, low - 1] <= 0.5) & (samples[:, high - 1] >= 0.5)
    assert inside.mean() >= 0.95


def test_too_few_values_are_left_out_with_the_reason() -> None:
    part = Distribution.decode(encoded(np.random.default_rng(3).lognormal(2, 0.5, 100)))
    found, missing = quantiles("service_ms", [part])
    assert sorted(found) == ["service_ms_p50", "service_ms_p90"]
    assert missing["service_ms_p99"] == "not measurable: 100 values, 800 are needed"


def test_one_trial_has_quantiles_without_an_interval() -> None:
    """Connections of a trial wait for each other: their number says nothing about another trial."""
    times_ms = np.random.default_rng(5).lognormal(2, 0.5, 5000)
    alone = quantiles("service_ms", [Distribution.decode(encoded(times_ms))])[0]
    assert sorted(alone) == [f"service_ms_p{p}" for p in (50, 90, 95, 99)]
    for found in alone.values():
        assert (found.low, found.high, found.n) == (None, None, 1)
        assert found.method == "histogram of 5000 values; one trial: no interval"


def test_quantiles_of_single_trials_are_not_set_apart() -> None:
    """Two queues of the same kind differ by chance, and must not establish a difference."""
    rng = np.random.default_rng(6)
    first, second = (
        quantiles("x", [Distribution.decode(encoded(shift * rng.lognormal(2, 0.1, 5000)))])[0]
        for shift in (1.0, 2.0)
    )
    found = independent("response_ms_p99_at_60", first["x_p99"], second["x_p99"])
    assert (found.low, found.p, found.error) == (None, None, None)
    (judged,) = judged_together([found])
    assert judged.verdict == "cannot_tell"


def test_scatter_between_trials_widens_the_interval() -> None:
    rng = np.random.default_rng(4)

    def width(scatter: float) -> float:
        parts = [
            Distribution.decode(encoded(rng.lognormal(2, 0.1, 2000) * np.exp(shift)))
            for shift in rng.normal(0, scatter, 5)
        ]
        estimate = quantiles("service_ms", parts)[0]["service_ms_p50"]
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= estimate.value <= estimate.high
        return estimate.high - estimate.low

    assert width(0.1) > 3 * width(0.0)


def test_a_run_that_looks_at_its_trials_has_wider_intervals() -> None:
    """In a closed loop, a time is the number of connections over the rate that the run measures."""
    rng = np.random.default_rng(4)
    parts = [
        Distribution.decode(encoded(rng.lognormal(2, 0.1, 2000) * np.exp(shift)))
        for shift in rng.normal(0, 0.05, 6)
    ]
    once, anytime = (
        quantiles("service_ms", parts, looked)[0]["service_ms_p50"] for looked in (False, True)
    )
    assert None not in (once.low, once.high, anytime.low, anytime.high)
    assert anytime.value == once.value
    assert anytime.high - anytime.low > 1.2 * (once.high - once.low)  # type: ignore[operator]
    assert anytime.method.endswith("which holds at any time")


def test_quantiles_are_those_of_the_client_that_carried_the_load() -> None:
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519",)}
    trial = made_run(experiment=with_levels(load("groups"), few)).trials[0]
    run = trial.runs["capacity"]
    rng = np.random.default_rng(4)
    # One connection in 128 is made by the library, and takes twice as long.
    minimal, library = rng.lognormal(0, 0.1, 12_700), 2 * rng.lognormal(0, 0.1, 100)
    clients = {
        name: ClientTimes(len(values), {"service": encoded(values)}, {})
        for name, values in (("library", library), ("minimal", minimal))
    }
    both = np.concatenate([minimal, library])
    histograms = {"service": encoded(both), "start_delay": encoded(minimal / 10)}
    record = replace(run.record, histograms=histograms, clients=clients)
    trial = replace(trial, runs={"capacity": replace(run, record=record)})
    (carried,), (whole,) = times([trial], "service"), times([trial], "service", whole=True)
    assert (carried.n, whole.n) == (12_700, 12_800)
    assert carried.quantile(0.999) == pytest.approx(np.quantile(minimal, 0.999), rel=5e-3)
    assert whole.quantile(0.999) > 1.3 * carried.quantile(0.999)
    # Times of no particular client remain; with one client all times are its own.
    assert times([trial], "start_delay")[0].n == 12_700
    alone = replace(record, clients={})
    trial = replace(trial, runs={"capacity": replace(run, record=alone)})
    assert times([trial], "service")[0].n == 12_800
