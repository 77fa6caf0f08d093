"""What may be said of a time beside a packet capture: whether it agrees, or is too short."""

import pytest

from tlslab.model.validation import (
    CaptureVerdict,
    Comparison,
    Judgement,
    Resolution,
    judgements_words,
)


@pytest.mark.parametrize(
    ("capture_ms", "agrees", "judged"),
    [
        (100.0, "1 %", "agrees"),
        # 1 % of 0.2 ms are 2 µs: the resolution is coarser than the claim, however near it is.
        (0.2, "1 %", "too_short"),
        (0.2, "resolution", "too_short"),
        (0.2, "no", "differs"),
        (100.0, "too few", "too_few"),
    ],
)
def test_a_time_is_too_short_where_the_resolution_is_coarser_than_the_claim(
    capture_ms: float, agrees: CaptureVerdict, judged: Judgement
) -> None:
    comparison = Comparison(0.5, capture_ms, capture_ms, 1.0, agrees)
    assert comparison.judged(Resolution(20.0, 90.0, 1000)) == judged


def test_the_words_count_each_judgement() -> None:
    assert judgements_words(["agrees", "agrees"]) == "2 of 2 times agree within 1 %"
    assert judgements_words(["agrees", "too_short", "differs"]) == (
        "1 of 3 times agree within 1 %, 1 differ, 1 are too short to judge: the machine's "
        "resolution is coarser"
    )
