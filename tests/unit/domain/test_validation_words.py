"""The verdict on a time beside a packet capture: it agrees, or it is too short to judge."""

from dataclasses import replace

import pytest

from factories.validation import made_validation
from tlslab.domain.validation import (
    CaptureVerdict,
    Comparison,
    Judgement,
    Resolution,
    judgements_words,
    results_words,
)


@pytest.mark.parametrize(
    ("capture_ms", "agrees", "judged"),
    [
        (100.0, "1 %", "agrees"),
        # 1 % of 0.2 ms is 2 µs: the resolution is coarser than that, however close the times are.
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
    assert judgements_words(["agrees", "too_short", "differs", "too_few"]) == (
        "1 of 4 times agrees within 1 %, 1 differs, 1 is of too few connections, 1 is too short to "
        "judge: the machine's resolution is coarser"
    )
    assert judgements_words(["differs", "differs"]) == "0 of 2 times agree within 1 %, 2 differ"


def test_invalid_loads_are_named_and_not_judged() -> None:
    (valid,) = made_validation().rates
    lost, missing = replace(valid, rate=200.0, dropped=3), replace(valid, rate=500.0, missing=12)
    said = results_words([valid, lost, replace(lost, rate=1000.0), missing])
    assert said.startswith("0 of 8 times agree within 1 %, 8 are too short to judge")
    assert said.endswith(
        "; 2 loads are invalid (200/s, 1,000/s): packets were lost"
        "; 1 load is invalid (500/s): connections are not in the capture"
    )
    nothing = results_words([replace(valid, matched=0, phases=())])
    assert nothing == (
        "no time was compared; 1 load is invalid (2,000/s): no connection was compared"
    )


def test_a_validation_with_an_invalid_load_does_not_pass() -> None:
    found = made_validation()
    (valid,) = found.rates
    assert found.passed
    assert not replace(found, rates=(valid, replace(valid, dropped=3))).passed
    assert not replace(found, rates=()).passed
