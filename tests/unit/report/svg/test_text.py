"""Texts of charts are folded and shortened to fit; suites show IANA's names on hover."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.figures import LONG
from tlslab.domain.figure import Figure, Series
from tlslab.report.svg import draw
from tlslab.report.svg.text import fold, in_full, shorten, width_of


@given(st.text(min_size=1, max_size=80), st.floats(20, 400), st.integers(1, 3))
def test_lines_fit_and_are_few(text: str, room: float, lines: int) -> None:
    found = fold(text, room, lines)
    assert 1 <= len(found) <= lines
    assert all(width_of(line) <= room for line in found)


@given(st.text(min_size=1, max_size=80))
def test_a_text_that_fits_is_unchanged(text: str) -> None:
    assert shorten(text, width_of(text)) == text
    assert fold(text, width_of(text)) == (text,)


@pytest.mark.parametrize(
    ("room", "lines"),
    [
        (400, (LONG,)),
        (270, ("DHE-RSA-AES128-GCM-SHA256, RSA-2048,", "HTTP/2")),
        (250, ("DHE-RSA-AES128-GCM-SHA256,", "RSA-2048, HTTP/2")),
        (130, ("DHE-RSA-AES128-", "GCM-SHA25…HTTP/2")),
    ],
)
def test_names_break_at_spaces_and_keep_their_end(room: float, lines: tuple[str, ...]) -> None:
    assert fold(LONG, room) == lines


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
