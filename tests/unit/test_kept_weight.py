"""Kept pages are as light as pages are made."""

from kept.figures import REPORTS
from tlslab.report.html import HEAVIEST

# Rendered before all pages were held to that weight: they are made anew with their next runs.
HEAVY = {
    "runtimes",
    "suites-node-http1",
}


def test_kept_pages_are_light_but_for_those_that_are_named() -> None:
    pages = list(REPORTS.glob("*/report.html"))
    assert len(pages) > len(HEAVY)
    assert {page.parent.name for page in pages if page.stat().st_size > HEAVIEST} == HEAVY
