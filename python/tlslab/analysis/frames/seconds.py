"""The slices of the engine's runs, most of them a second long."""

from dataclasses import dataclass

from tlslab.analysis.frames.rows import EngineRun, engine_runs, run_fields
from tlslab.domain.frame import Field, Frame, field, make_frame
from tlslab.domain.record import Interval
from tlslab.domain.run import RunContents


@dataclass(frozen=True)
class _Slice(EngineRun):
    interval: Interval


def seconds(contents: RunContents) -> Frame:
    """A row for each slice of each run's measurement; `at_s` counts from the measurement's start.

    `completed / seconds` is the rate in a slice: slices are not all of the same length.
    """
    slices = (
        _Slice(row.trial, row.kind, row.run, interval)
        for row in engine_runs(contents)
        for interval in row.run.record.intervals
    )
    fields: list[Field[_Slice]] = [
        *run_fields(contents),
        field("at_s", "number", "s", "start of the slice", lambda s: s.interval.at_s),
        field("seconds", "number", "s", "length of the slice", lambda s: s.interval.seconds),
        field("completed", "integer", "", "connections", lambda s: s.interval.completed),
        field("failed", "integer", "", "connections", lambda s: s.interval.failed),
        field(
            "client_user_us", "integer", "us", "processor time of the generator's workers, program",
            lambda s: s.interval.cpu.user_us,
        ),
        field(
            "client_system_us", "integer", "us", "the same in the kernel",
            lambda s: s.interval.cpu.system_us,
        ),
    ]  # fmt: skip
    return make_frame("seconds", fields, slices)
