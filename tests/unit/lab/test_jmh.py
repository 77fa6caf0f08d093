import json
from typing import Any

import pytest

from tlslab.domain.errors import StoreError
from tlslab.lab.benchmark.jmh import read_jmh


def metric(unit: str, values: list[Any], **more: Any) -> dict[str, Any]:
    return {"score": values[0], "scoreUnit": unit, "rawData": [values], **more}


def result(mode: str, primary: dict[str, Any]) -> dict[str, Any]:
    return {
        "jmhVersion": "1.37",
        "benchmark": "tlslab.Signatures.sign",
        "mode": mode,
        "threads": 2,
        "vmName": "OpenJDK 64-Bit Server VM",
        "vmVersion": "17.0.15+6",
        "jvmArgs": ["-Xmx1g"],
        "warmupIterations": 5,
        "measurementTime": "500 ms",
        "primaryMetric": primary,
        "secondaryMetrics": {
            "tlslab.ops": metric("ops", [1000.0, 1010.0]),
            "tlslab.counted_ops": metric("ops", [480.0, 490.0]),
            "tlslab.seconds": metric("s", [1.0, 1.01]),
            "tlslab.cpu": metric("us", [900_000.0, 910_000.0]),
            "tlslab.signers_cpu": metric("us", [500_000.0, 505_000.0]),
        },
    }


THROUGHPUT = result("thrpt", metric("ops/s", [990.0, 1005.0]))
SAMPLE = result(
    "sample",
    metric(
        "s/op",
        [0.002, 0.0021],
        scorePercentiles={"0.0": 0.001, "50.0": 0.0019, "99.0": 0.004, "99.9": 0.009},
        rawDataHistogram=[[[[0.001, 3], [0.002, 7]], [[0.004, 10]]]],
    ),
)


def test_both_modes_are_read() -> None:
    runs = read_jmh(json.dumps([THROUGHPUT, SAMPLE]), signers=True)
    throughput, sample = runs["throughput"], runs["sample"]
    assert throughput.per_s == (990.0, 1005.0)
    assert throughput.program == "JMH 1.37"
    assert throughput.iterations[0].signers_cpu_us == 500_000
    assert sample.percentiles_ms == {"0": 1.0, "50": 1.9, "99": 4.0, "99.9": 9.0}
    assert sample.mean_ms == 2.0
    assert sample.samples == 20
    assert sample.per_s == pytest.approx((960, 980))


def test_without_other_processes_nothing_is_said_of_them() -> None:
    run = read_jmh(json.dumps([THROUGHPUT]), signers=False)["throughput"]
    assert run.iterations[0].signers_cpu_us is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "[1]",
        json.dumps([{**THROUGHPUT, "mode": "avgt"}]),
        json.dumps([{**THROUGHPUT, "primaryMetric": metric("ops/ms", [1.0])}]),
        json.dumps([{**THROUGHPUT, "primaryMetric": metric("ops/s", ["NaN"])}]),
        json.dumps([{**THROUGHPUT, "secondaryMetrics": {}}]),
    ],
)
def test_a_malformed_result_is_refused(text: str) -> None:
    with pytest.raises(StoreError):
        read_jmh(text, signers=False)
