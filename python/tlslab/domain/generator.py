"""The processor use of a run's generators."""

from tlslab.domain.record import RunRecord, Verdict

# The engine's verdicts on workers that were ready and did not run: so much of the time that rates
# are lower bounds, or that the figures may not be used.
DELAYED, STARVED = "client_delayed", "client_starved"


def generator_busy(record: RunRecord) -> float:
    """The share of the time left to them for which the busiest workers computed; 0 without any.

    Records of earlier engines have no such share: it is that of the busiest worker alone.
    """
    if record.busy is not None:
        return record.busy
    return max((worker.busy for worker in record.workers if worker.seconds > 0), default=0.0)


def time_lost(record: RunRecord) -> Verdict | None:
    """The engine's verdict on time that the generator lost; None if it did not matter."""
    lost = (each for each in record.verdicts if each.code in (DELAYED, STARVED))
    return max(lost, key=lambda each: each.code == STARVED, default=None)
