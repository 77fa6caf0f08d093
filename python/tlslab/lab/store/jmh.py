"""Reads JMH's results in JSON, including the lab's own accounting."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tlslab.domain.benchmark import BenchmarkRun, Iteration, Mode
from tlslab.domain.errors import StoreError

# JMH's short names of its modes.
MODES: Mapping[str, Mode] = {"thrpt": "throughput", "sample": "sample"}

# The names of the numbers of java/'s profiler.
_OPERATIONS, _SECONDS, _CPU, _SIGNERS = (
    f"tlslab.{name}" for name in ("ops", "seconds", "cpu", "signers_cpu")
)

# Operations within an iteration's own time, without those while threads start and end.
_COUNTED = "tlslab.counted_ops"

_LENGTHS = {"ms": 1e-3, "s": 1.0, "min": 60.0}


def read_jmh(text: str, signers: bool) -> dict[Mode, BenchmarkRun]:
    """The runs of a result file with one fork of each mode; `signers`: other processes sign.

    Raises StoreError for a file that is not JMH's or holds no result: JMH leaves out forks that
    have crashed.
    """
    try:
        results = json.loads(text)
        found = {MODES[result["mode"]]: _run(result, signers) for result in results}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise StoreError(f"not a result of JMH: {type(error).__name__} {error}") from None
    if not found:
        raise StoreError("JMH's result file is empty")
    return found


def _run(result: Mapping[str, Any], signers: bool) -> BenchmarkRun:
    mode = MODES[result["mode"]]
    metric = result["primaryMetric"]
    iterations = _iterations(result["secondaryMetrics"], signers)
    sampled = mode == "sample"
    histogram = metric.get("rawDataHistogram", [[]])[0] if sampled else []
    return BenchmarkRun(
        program=f"JMH {result['jmhVersion']}",
        runtime=f"{result['vmName']} {result['vmVersion']}",
        mode=mode,
        threads=int(result["threads"]),
        arguments=tuple(str(argument) for argument in result["jvmArgs"]),
        warmup_iterations=int(result["warmupIterations"]),
        per_s=_counted_per_s(result)
        if sampled
        else tuple(_numbers(metric["rawData"][0], metric["scoreUnit"], "ops/s")),
        iterations=iterations,
        percentiles_ms=_percentiles(metric) if sampled else None,
        mean_ms=_milliseconds([metric["score"]], metric["scoreUnit"])[0] if sampled else None,
        samples=sum(int(count) for iteration in histogram for _, count in iteration),
    )


def _counted_per_s(result: Mapping[str, Any]) -> tuple[float, ...]:
    """Operations per second of each iteration, for a mode that does not report them itself."""
    length, unit = result["measurementTime"].split()
    seconds = float(length) * _LENGTHS[unit]
    counted = result["secondaryMetrics"][_COUNTED]["rawData"][0]
    return tuple(operations / seconds for operations in counted)


def _iterations(secondary: Mapping[str, Any], signers: bool) -> tuple[Iteration, ...]:
    columns = [secondary[name]["rawData"][0] for name in (_OPERATIONS, _SECONDS, _CPU, _SIGNERS)]
    return tuple(
        Iteration(round(operations), seconds, cpu, signing if signers else None)
        for operations, seconds, cpu, signing in zip(*columns, strict=True)
    )


def _percentiles(metric: Mapping[str, Any]) -> dict[str, float]:
    """Percentiles by their percentage, in milliseconds."""
    found: Mapping[str, Any] = metric["scorePercentiles"]
    values = _milliseconds(list(found.values()), metric["scoreUnit"])
    return {f"{float(name):g}": value for name, value in zip(found, values, strict=True)}


def _milliseconds(values: Sequence[Any], unit: str) -> list[float]:
    return [1000 * value for value in _numbers(values, unit, "s/op")]


def _numbers(values: Sequence[Any], unit: str, expected: str) -> list[float]:
    """A number of JMH's file, where NaN is written as text."""
    numbers = [float(value) for value in values]
    if unit != expected or not numbers or not all(math.isfinite(number) for number in numbers):
        raise StoreError(f"not a result in {expected}: {values!r:.80} {unit}")
    return numbers
