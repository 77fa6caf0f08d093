"""The documents agree with the kept reports: every number of a run is looked up."""

import json
import random
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kept.check import complaints
from kept.figures import REPORTS, ROOT, table

DOCUMENTS = ("docs/studies.md", "docs/handshakes-and-requests.md")

CBC = re.compile(r"-SHA(256)?$")
AEAD = re.compile(r"GCM|CCM|CHACHA20")


def references_of(document: Path) -> Mapping[str, Any]:
    return tomllib.loads(document.with_suffix(".figures.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_number_of_a_run_is_its_reports(name: str) -> None:
    document = ROOT / name
    assert complaints(document.read_text("utf-8"), references_of(document), REPORTS) == []


def test_a_wrong_digit_in_a_table_is_found() -> None:
    """Changes one digit after the other, in 30 estimates of the study's own tables."""
    document = ROOT / "docs/studies.md"
    text, references = document.read_text("utf-8"), references_of(document)
    found = list(re.finditer(r"(?<=\| )[\d.,]+(?= \([\d.,]+-[\d.,]+\) \|)", text))
    assert len(found) > 150
    for match in random.Random(5).sample(found, 30):
        last = match.end() - 1
        wrong = text[:last] + str((int(text[last]) + 1) % 10) + text[last + 1 :]
        assert len(complaints(wrong, references, REPORTS)) >= 1, match[0]


def test_every_document_that_links_to_a_kept_report_is_checked() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        if re.search(r"\]\((docs/)?reports/[\w-]+[/)]", path.read_text("utf-8"))
    ]
    assert sorted(found) == sorted(DOCUMENTS)


def test_links_lead_to_kept_reports() -> None:
    for name in DOCUMENTS:
        for link in re.findall(r"\]\((reports/[^)#]+)", (ROOT / name).read_text("utf-8")):
            assert (ROOT / "docs" / link).exists(), link


def test_over_http_2_aead_suites_have_higher_rates_than_cbc_on_each_server() -> None:
    """A statement in words, by point estimates."""
    for report in ("suites", "suites-node", "suites-apache"):
        rows = table(REPORTS, report, "table-suites-kept-open-1-2-2")["rows"]
        aead = [AEAD.search(row[0]) is not None for row in rows]
        assert any(aead)
        first_cbc = aead.index(False)
        assert not any(aead[first_cbc:])
        assert all(CBC.search(row[0]) for row in rows[first_cbc:])


def test_no_pair_of_hmacs_is_told_apart_on_nginx() -> None:
    rows = table(REPORTS, "suites", "table-suites-kept-open-1-2-2")["rows"]
    ranks = {row[0]: [int(end) for end in row[1].split("–")] for row in rows}
    pairs = [name for name in ranks if f"{name}256" in ranks and name.endswith("-SHA")]
    assert len(pairs) == 6
    for name in pairs:
        (first, last), (first_256, last_256) = ranks[name], ranks[f"{name}256"]
        assert max(first, first_256) <= min(last, last_256), name


# A small document with its kept report, correct in all respects; the tests below break one at a
# time.

DOCUMENT = """# Made up

Nothing measured: 12.5 ms.

## A study

*Published.* 833.8 requests/s.

### Result

Two runs ([report](reports/made)), Java is still warming up:

| | rate | share | study |
|---|---|---|---|
| nginx | 1,906 (1,819-2,037) | 20.5 % (19.2-21.8) | 9.5 |
| both | >= 3,100 (3,000-3,200) | | |
| late in the search, inconclusive | 700 (600-800) | | |
| overloaded | 55.5 (44.4-66.6) | | |

<!-- figures: rates -->

The rate is 2.5 times (2.4 to 2.6) the other, which is 8 % less than 0.92; 3 rows are valid.
Again: 1,906 (1,819 to 2,037).

<!-- figures: ratio -->
"""

REFERENCES = """
[rates]
report = "made"
table = "rates"
study = ["study"]
columns."rate" = "connections/s"
columns."share" = "share"
rows."both" = "nginx; 2 processors"
rows."nginx" = "nginx; 1 processor"
rows."late in the search, inconclusive" = "noisy"

[ratio]
report = "made"
table = "rates"
above = ["1,906 (1,819 to 2,037)"]
study = ["0.92"]
numbers."2.5 times (2.4 to 2.6)" = "a ratio of 2.5 (95 %: 2.4 to 2.6)"
numbers."8 %".value = "1 - a.value / 2071"
numbers."8 %".a = { row = "nginx; 1 processor", column = "connections/s" }
numbers."3" = { count = { verdict = "valid" } }
"""

KEPT: Mapping[str, Any] = {
    "sentences": ["nginx carries more, a ratio of 2.5 (95 %: 2.4 to 2.6)."],
    "warnings": [{"text": "the last iterations were faster: warm up for longer", "cells": "nginx"}],
    "tables": {
        "rates": {
            "title": "Rates",
            "columns": ["server", "on", "search", "connections/s", "share", "verdict"],
            "rows": [
                ["nginx", "1 processor", "converged (5)", "1,906 (1,819-2,037)",
                 "0.205 (0.192-0.218)", "valid"],
                ["nginx", "2 processors", "converged (5)", "3,100 (3,000-3,200)", "", "at least"],
                ["noisy", "", "inconclusive (noise)", "700 (600-800)", "", "valid"],
                ["overloaded", "", "", "55.5 (44.4-66.6)", "", "overloaded"],
                ["late", "", "", "16.0 (15.0-17.0)", "", "generator late"],
                ["other", "", "", "9.00", "", "valid"],
            ],
            "flags": [],
        }
    },
}  # fmt: skip


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., list[str]]:
    """The complaints about the document with `old` replaced by `new`, in it or its references."""

    def complaints_with(old: str = "", new: str = "", kept: Mapping[str, Any] = KEPT) -> list[str]:
        assert old in DOCUMENT + REFERENCES
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        (folder / "made").mkdir(parents=True)
        (folder / "made/figures.json").write_text(json.dumps(kept), "utf-8")
        document, references = (
            text.replace(old, new) if old else text for text in (DOCUMENT, REFERENCES)
        )
        return complaints(document, tomllib.loads(references), folder)

    return complaints_with


def test_a_document_that_is_right_has_no_complaints(check: Callable[..., list[str]]) -> None:
    assert check() == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("| 1,906 (", "| 1,907 (", "the report has 1,906"),
        ("(1,819-2,037)", "(1,819-2,038)", "the report has 1,906"),
        ("20.5 %", "20.6 %", "the report has 0.205"),
        ("2.5 times (2.4", "2.7 times (2.4", "not in 'a ratio of 2.5"),
        ("ratio of 2.5 (95", "ratio of 2.9 (95", "does not say"),
        ("2.5 times (2.4", "2.4 times (2.4", "not in 'a ratio of 2.5"),
        ("is 8 % less", "is 9 % less", "no reference"),
        ("/ 2071", "/ 3071", "1 - a.value / 3071 is 37.94"),
        ("| >= 3,100", "| 3,100", "a lower bound in the report"),
        (", inconclusive", "", "the report's row is inconclusive: say so"),
        ('"nginx; 2 processors"', '"late"', "the row is flagged 'generator late'"),
        ('"nginx; 2 processors"', '"nginx"', "2 rows 'nginx'"),
        ("reports/made)", "reports/other)", "no link to the report made"),
        ('"made"\ntable = "rates"\nst', '"gone"\ntable = "rates"\nst', "no kept report gone"),
        ('study = ["study"]\n', "", "9.5: no reference"),
        ("Again:", "Again: 4.5 and", "4.5: no reference"),
        ("Again: 1,906", "Again: 1,905", "1,905 (1,819 to 2,037): no reference"),
        ("<!-- figures: ratio -->", "", "references that nothing names: ratio"),
        (", Java is still warming up", "", "say 'warming up'"),
    ],
)
def test_a_document_that_is_wrong_has_complaints(
    check: Callable[..., list[str]], old: str, new: str, complaint: str
) -> None:
    found = check(old, new)
    assert any(complaint in each for each in found), found


def test_an_overloaded_row_has_to_say_so(check: Callable[..., list[str]]) -> None:
    assert check("\n| overloaded |", "\n| other |") != []
    kept = json.loads(json.dumps(KEPT))
    kept["tables"]["rates"]["rows"][3][0] = "busy"
    found = check("\n| overloaded |", "\n| busy |", kept)
    assert any("the report's row is overloaded: say so" in each for each in found), found


def test_a_row_that_becomes_flagged_is_found(check: Callable[..., list[str]]) -> None:
    """The verdict of a ranking is in `flags`, that of other tables in a column."""
    for flags, verdict in (([], "not comparable"), (["not_comparable"] + [""] * 5, "valid")):
        kept = json.loads(json.dumps(KEPT))
        kept["tables"]["rates"]["flags"] = flags
        kept["tables"]["rates"]["rows"][0][-1] = verdict
        assert any("the row is flagged 'not" in each for each in check(kept=kept))


def test_a_section_without_a_run_is_not_checked(check: Callable[..., list[str]]) -> None:
    assert check("12.5 ms", "13.5 ms") == []
    assert check("833.8 requests", "834.8 requests") == []
