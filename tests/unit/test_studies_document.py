"""The documents agree with the kept reports: every number of a run is looked up."""

import random
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kept.check import complaints
from kept.document import sections
from kept.figures import REPORTS, ROOT
from kept.numbers import Number, numbers

STUDIES = ("groups", "suites", "runtimes", "concurrency", "capacity", "calibrate")
DOCUMENTS = (*(f"docs/studies/{name}.md" for name in STUDIES), "docs/handshakes-and-requests.md")
OVERVIEW = ROOT / "docs/studies.md"

PAGE = re.compile(r"\]\(studies/(\w+)\.md\)")


def references_of(document: Path) -> Mapping[str, Any]:
    return tomllib.loads(document.with_suffix(".figures.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_number_of_a_run_is_its_reports(name: str) -> None:
    document = ROOT / name
    assert complaints(document.read_text("utf-8"), references_of(document), REPORTS) == []


def test_a_wrong_digit_in_a_table_is_found() -> None:
    """Changes one digit after the other, in 30 estimates of the study's own tables."""
    found = []
    for name in STUDIES:
        document = ROOT / f"docs/studies/{name}.md"
        text, references = document.read_text("utf-8"), references_of(document)
        places = re.finditer(r"(?<=\| )[\d.,]+(?= \([\d.,]+-[\d.,]+\) \|)", text)
        found += [(text, references, match.end() - 1) for match in places]
    assert len(found) > 100
    for text, references, last in random.Random(5).sample(found, 30):
        wrong = text[:last] + str((int(text[last]) + 1) % 10) + text[last + 1 :]
        assert len(complaints(wrong, references, REPORTS)) >= 1, text[last - 20 : last + 20]


def test_the_overview_says_what_the_pages_of_the_studies_say() -> None:
    """Each measured number of a row or a section is on the page that it links to."""
    assert unsupported(OVERVIEW.read_text("utf-8")) == []


def test_a_number_of_the_overview_that_no_page_has_is_found() -> None:
    text = OVERVIEW.read_text("utf-8").replace("0.68 (0.65 to 0.72)", "0.68 (0.65 to 0.73)")
    assert unsupported(text) == ["0.68 (0.65 to 0.73)"]


def test_the_overview_is_short() -> None:
    assert len(OVERVIEW.read_text("utf-8").split()) <= 1800


def unsupported(overview: str) -> list[str]:
    """The measured numbers of the overview that are not on the pages linked to beside them."""
    found = []
    for section in sections(overview):
        linked = PAGE.findall(section.text)
        for block in section.blocks:
            rows = block.rows or ((block.prose,),)
            for row in rows:
                text = " | ".join(row)
                linked = (PAGE.findall(text) or linked) if block.rows else linked
                known = [each for page in linked for each in on_page(page)]
                found += [
                    each.text
                    for each in numbers(text)
                    if each.measured and not any(_same(each, there) for there in known)
                ]
    return found


def _same(number: Number, there: Number) -> bool:
    """Whether a number is one of a page; without an interval, which the page may have."""
    if number.low is None and number.high is None:
        return number.value == there.value
    return number.key == there.key


@cache
def on_page(name: str) -> tuple[Number, ...]:
    return tuple(numbers((ROOT / f"docs/studies/{name}.md").read_text("utf-8")))


def test_every_document_that_links_to_a_kept_report_is_checked() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
        if re.search(r"\]\((docs/|\.\./)?reports/[\w-]+[/)]", path.read_text("utf-8"))
    ]
    assert sorted(found) == sorted(DOCUMENTS)


def test_links_lead_to_kept_reports() -> None:
    for name in DOCUMENTS:
        for link in re.findall(r"\]\(((?:../)?reports/[^)#]+)", (ROOT / name).read_text("utf-8")):
            assert ((ROOT / name).parent / link).exists(), link


# A small document with its kept report, correct in all respects; the tests below break one at a
# time.
