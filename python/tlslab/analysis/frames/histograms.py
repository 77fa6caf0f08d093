"""The counted times of the engine's runs."""

from dataclasses import dataclass

from tlslab.analysis.frames.rows import EngineRun, engine_runs, run_fields
from tlslab.domain.distribution import Distribution
from tlslab.domain.frame import Field, Frame, field, make_frame
from tlslab.domain.run import RunContents


@dataclass(frozen=True)
class _Count(EngineRun):
    histogram: str
    value_ms: float
    count: int


def histograms(contents: RunContents) -> Frame:
    """A row for each value that occurred in a histogram; three significant digits.

    If a run has two clients, the histograms are those of the client that carried the load.
    """
    counts = (
        _Count(row.trial, row.kind, row.run, name, float(value), int(count))
        for row in engine_runs(contents)
        for name, encoded in row.run.record.load_histograms.items()
        for value, count in _pairs(encoded)
    )
    fields: list[Field[_Count]] = [
        *run_fields(contents),
        field("histogram", "text", "", "connect, handshake, service, ...", lambda c: c.histogram),
        field("value_ms", "number", "ms", "middle of the bucket", lambda c: c.value_ms),
        field("count", "integer", "", "how often it occurred", lambda c: c.count),
    ]
    return make_frame("histograms", fields, counts)


def _pairs(encoded: str) -> "zip[tuple[float, int]]":
    found = Distribution.decode(encoded)
    return zip(found.values, found.counts, strict=True)
