"""A made-up validation: each time at one rate, with the widest possible numbers."""

from tlslab.domain.validation import (
    PHASES,
    Comparison,
    PhaseResult,
    RateResult,
    Resolution,
    Validation,
)


def made_validation() -> Validation:
    """All times agree within the resolution."""
    compared = tuple(
        Comparison(quantile, 1234.567, 1230.001, 1.0037, "resolution") for quantile in (0.5, 0.99)
    )
    phases = tuple(PhaseResult(name, 12345, compared, -1234.0, 12345.0) for name in PHASES)
    resolution = Resolution(median_us=12.0, p99_us=345.0, n=1000)
    rate = RateResult(2000.0, 1999.0, resolution, 20000, 20000, 0, 90000, 0, phases)
    return Validation("tlslab.validation/1", "reference", "rustls", 100, (rate,))
