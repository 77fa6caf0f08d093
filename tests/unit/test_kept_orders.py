"""The kept run of groups that ended once all was settled, beside that of ten blocks."""

import json
import lzma
from datetime import datetime
from typing import Any

from kept.figures import REPORTS, table

SETTLED, FIXED = "groups-until-settled", "groups"


def trials(report: str) -> list[dict[str, Any]]:
    text = lzma.decompress((REPORTS / report / "trials.jsonl.xz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def seconds(report: str) -> float:
    """The time from the start of the first trial to that of the last one."""
    starts = [datetime.fromisoformat(trial["started"]) for trial in trials(report)]
    return (max(starts) - min(starts)).total_seconds()


def order(report: str) -> list[str]:
    """The cells in the order of the page: by setting, the fastest first."""
    return [row[0] for row in table(REPORTS, report, "results")["rows"]]


def ranks(report: str) -> list[str]:
    found = table(REPORTS, report, "results")
    place = found["columns"].index("rank")
    return [row[place] for row in found["rows"]]


def test_the_order_is_the_same_in_a_third_of_the_time() -> None:
    assert order(SETTLED) == order(FIXED)
    assert seconds(SETTLED) < seconds(FIXED) / 3


def test_only_the_run_that_may_go_on_has_told_the_first_two_apart() -> None:
    assert ranks(FIXED)[:2] == ["1–2", "1–2"]
    assert ranks(SETTLED) == ["1", "2", "3", "4", "5"] * 4


def test_the_document_has_the_numbers_of_trials() -> None:
    assert (len(trials(SETTLED)), len(trials(FIXED))) == (113, 200)
