"""Kept pages are as small as newly made ones."""

from kept.figures import REPORTS
from tlslab.report.html import HEAVIEST


def test_kept_pages_are_light() -> None:
    pages = list(REPORTS.glob("*/report.html"))
    assert len(pages) > 10
    assert not [page.parent.name for page in pages if page.stat().st_size > HEAVIEST]
