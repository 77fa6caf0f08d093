"""Requirements of a sentence: a narrow enough interval, a small enough difference."""

# An interval whose upper end is this many times its lower end is too wide for a finding.
WIDE = 1.5

# Two cells are equivalent when the interval of their ratio lies within this share of 1.
EQUIVALENCE = 0.10


def too_wide(low: float | None, high: float | None) -> bool:
    """Whether an interval is missing or too wide for a sentence."""
    return low is None or high is None or low <= 0 or high / low > WIDE
