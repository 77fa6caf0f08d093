"""Numbers in sentences: the interval, a lower bound, an absent interval, the unit's own form."""

import pytest

from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Marked
from tlslab.lab.store import from_json, to_json
from tlslab.words.numbers import marked_words, range_words, with_interval

RATE = Estimate(3412.4, 3390.0, 3440.0, 5, "/s", "t")
BARE = Estimate(3412.4, None, None, 3, "/s", "t")


@pytest.mark.parametrize(
    ("found", "options", "text"),
    [
        (RATE, {}, "3,412 (95 %: 3,390 to 3,440)"),
        (RATE, {"unit": "J"}, "3,412 J (95 %: 3,390 to 3,440)"),
        (RATE, {"bound": "at least"}, "at least 3,412"),
        (BARE, {"absent": "no interval"}, "3,412 (no interval)"),
        (BARE, {"absent": "trials"}, "3,412 (3 trials, no interval)"),
        (BARE, {"absent": ""}, "3,412"),
        (Estimate(1.25, 1.2, 1.3, 5, "ratio", "t"), {}, "1.25 (95 %: 1.20 to 1.30)"),
        (Estimate(0.19, 0.17, 0.21, 5, "share", "t"), {}, "19 % (95 %: 17 to 21)"),
    ],
)
def test_a_number_has_its_interval(found: Estimate, options: dict[str, str], text: str) -> None:
    assert with_interval(found, **options) == text  # type: ignore[arg-type]


def test_a_range_with_a_sign_has_no_dash_between_its_ends() -> None:
    assert range_words("3.5", "10.4") == "3.5–10.4"
    assert range_words("-2.4", "4.3") == "-2.4 to 4.3"


def test_an_estimate_in_the_words_of_a_table_keeps_its_numbers() -> None:
    share = Estimate(0.19, 0.17, 0.21, 5, "share", "t")
    marked = Marked("at least", share)
    assert marked_words(marked) == "at least 19 % (95 %: 17 to 21)"
    assert marked_words(Marked("", share)) == "19 % (95 %: 17 to 21)"
    table = DataTable("t", "T", "", ("a", "b", "c"), ((marked, share, "words"),))
    assert from_json(to_json(table), DataTable) == table
