"""One trial in tlslab's engine: client and server in memory, like two SSLEngines in Java."""

from dataclasses import replace
from typing import Any

from tlslab.domain.benchmark import BenchmarkRun, BenchmarkSettings, Iteration, Mode
from tlslab.domain.errors import EngineError, StoreError
from tlslab.lab.benchmark.jmh import ForkFailedError
from tlslab.lab.benchmark.keystores import KEY, KeyStore
from tlslab.lab.generators import GeneratorPool

# The parameters that the JVM's benchmarks pin, too (java/, `Pinned`).
_PINNED = {
    "handshake-tls12": ("1.2", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "rsa_pkcs1_sha256"),
    "handshake-tls13": ("1.3", "TLS_AES_128_GCM_SHA256", "rsa_pss_rsae_sha256"),
}

# Percentiles of the engine's summaries, by JMH's names.
_PERCENTILES = {"50": "p50_ms", "90": "p90_ms", "95": "p95_ms", "99": "p99_ms", "99.9": "p999_ms"}

# The engine is compiled ahead of time: only caches and connections to signing nodes need a warm-up.
WARMUP_S = 0.2


def flags(benchmark: str, keys: KeyStore, threads: int, milliseconds: int) -> list[str]:
    """The engine's options. Raises ForkFailedError for a benchmark it does not have."""
    if benchmark not in _PINNED:
        raise ForkFailedError("unsupported", f"the engine has no benchmark '{benchmark}'")
    tls, suite, scheme = _PINNED[benchmark]
    options = {
        "--threads": str(threads), "--duration": f"{milliseconds}ms", "--tls": tls,
        "--suite": suite, "--group": "X25519", "--certificate": KEY, "--sigalg": scheme,
        "--handshake": "mutual", "--client-certificate": KEY,
    }  # fmt: skip
    return [part for option in options.items() for part in option] + list(keys.flags)


def run_in_memory(
    engine: GeneratorPool, benchmark: str, keys: KeyStore, threads: int, settings: BenchmarkSettings
) -> dict[Mode, BenchmarkRun]:
    """The runs of both modes, from one process that times every handshake.

    Raises ForkFailedError.
    """
    counted = settings.iterations * settings.iteration_ms
    line = flags(benchmark, keys, threads, counted)
    try:
        warm_up = flags(benchmark, keys, threads, round(1000 * WARMUP_S))
        engine.in_memory(warm_up, environment=keys.environment)
        record = engine.in_memory(line, counted / 1000, keys.environment)
        return read(record, threads, tuple(line))
    except EngineError as error:
        raise ForkFailedError(error.class_, error.message) from None


def read(record: dict[str, Any], threads: int, line: tuple[str, ...]) -> dict[Mode, BenchmarkRun]:
    """The engine's record as the runs of the modes."""
    try:
        done = record["handshakes"]
        completed, failed = done["outcomes"]["completed"], done["outcomes"]["failed"]
        summary = done["summaries"]["service"]
        runtime = f"{record['backend']} {record['versions'][record['backend']]}"
        iteration = Iteration(completed, done["seconds"], done["cpu_us"] * completed)
        percentiles = {name: summary[field] for name, field in _PERCENTILES.items()}
    except (KeyError, TypeError) as error:
        raise StoreError(f"not a record of handshakes in memory: {error!r}") from None
    if failed:
        raise ForkFailedError("handshakes_failed", f"{failed}: {done['first_failure']}")
    counted = BenchmarkRun(
        program=f"tlslab-load {record['versions']['tlslab']}",
        runtime=runtime,
        mode="throughput",
        threads=threads,
        arguments=line,
        warmup_iterations=0,
        per_s=(done["handshakes_per_s"],),
        iterations=(iteration,),
    )
    sampled = replace(
        counted,
        mode="sample",
        percentiles_ms={**percentiles, "100": summary["max_ms"]},
        mean_ms=summary["mean_ms"],
        samples=summary["n"],
    )
    return {"throughput": counted, "sample": sampled}
