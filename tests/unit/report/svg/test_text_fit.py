"""Texts of charts are folded and shortened to fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.figures import LONG
from tlslab.report.svg.text_fit import fold, shorten, width_of


@given(st.text(min_size=1, max_size=80), st.floats(20, 400), st.integers(1, 3))
def test_lines_fit_and_are_few(text: str, room: float, lines: int) -> None:
    found = fold(text, room, lines)
    assert 1 <= len(found) <= lines
    assert all(width_of(line) <= room for line in found)


@given(st.text(min_size=1, max_size=80))
def test_what_fits_is_left_alone(text: str) -> None:
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
