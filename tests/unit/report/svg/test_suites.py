"""Names of suites in charts: short names are drawn, IANA's names appear on hover."""

from xml.etree import ElementTree

import pytest

from tlslab.domain.figure import Figure, Series
from tlslab.report.svg import draw
from tlslab.report.svg.suites import in_full

ECDHE = "ECDHE-RSA-AES128-GCM-SHA256"
IANA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"


@pytest.mark.parametrize(
    ("text", "full"),
    [
        (ECDHE, f"{ECDHE} ({IANA})"),
        (f"nginx, {ECDHE}, TLS 1.2", f"nginx, {ECDHE}, TLS 1.2 ({IANA})"),
        (f"{ECDHE}; {ECDHE}", f"{ECDHE}; {ECDHE} ({IANA})"),
        ("TLS_AES_128_GCM_SHA256", ""),
        ("X25519-MLKEM", ""),
        ("P-256", ""),
        ("", ""),
    ],
)
def test_ianas_name_stands_behind_openssls(text: str, full: str) -> None:
    assert in_full(text) == full


def test_a_ranking_shows_ianas_name_on_the_short_one() -> None:
    series = Series("rate", (ECDHE, "AES256-SHA"), (2.0, 1.0))
    figure = Figure("rate", "Rate", "", "ranking", "suite", "connections/s", (series,))
    drawn = ElementTree.fromstring(str(draw(figure, 900)))
    texts = drawn.iter("{http://www.w3.org/2000/svg}text")
    titles = {text.text: text.findtext("{http://www.w3.org/2000/svg}title") for text in texts}
    assert titles[ECDHE] == f"{ECDHE} ({IANA})"
    assert titles["AES256-SHA"] == "AES256-SHA (TLS_RSA_WITH_AES_256_CBC_SHA)"
