"""A validation as Markdown and as CSV: the same times as in its JSON."""

import csv
import io
from dataclasses import replace

import pytest

from factories.validation import made_validation
from tlslab.report.validation import validation_csv, validation_markdown


def test_csv_has_a_line_for_each_quantile_of_each_time() -> None:
    found = made_validation()
    rows = list(csv.DictReader(io.StringIO(validation_csv(found))))
    assert [(row["phase"], float(row["quantile"])) for row in rows] == [
        (phase.phase, each.quantile)
        for phase in found.rates[0].phases
        for each in phase.comparisons
    ]
    assert {float(row["tool_ms"]) for row in rows} == {1234.567}
    assert {row["judgement"] for row in rows} == {"too short to judge"}
    assert [float(row["resolution_us"]) for row in rows[:2]] == [12.0, 345.0]
    assert [float(row["difference_us"]) for row in rows[:2]] == [-1234.0, 12345.0]


def test_times_of_an_invalid_load_are_not_judged() -> None:
    found = made_validation()
    lost = replace(found, rates=(replace(found.rates[0], dropped=3),))
    rows = list(csv.DictReader(io.StringIO(validation_csv(lost))))
    assert {row["judgement"] for row in rows} == {"invalid"}
    page = validation_markdown(lost)
    assert page.count("| invalid |") == len(rows)
    assert "- invalid at 2000/s: " in page


@pytest.mark.parametrize(
    "words",
    [
        "**0 of 8 times agree within 1 %, 8 are too short to judge",
        "### 1,999 connections/s",
        "| handshake: to Finished | p50 | 12,345 | 1,234.567 | 1,230.001 | +0.37 % |",
        "- reference, back end rustls",
    ],
)
def test_markdown_has_the_answer_the_table_and_the_notes(words: str) -> None:
    assert words in validation_markdown(made_validation())
