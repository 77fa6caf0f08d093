"""Text from outside loses characters that could control a terminal or mislead a reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.domain.plain import LIMIT, plain


@pytest.mark.parametrize(
    ("hostile", "ordinary"),
    [
        ("nginx/1.22.1", "nginx/1.22.1"),
        ("\x1b[31mred\x1b[0m", " [31mred [0m"),
        ("a\u202eb", "a b"),
        ("zero\u200bwidth", "zero width"),
        ("two\nlines\u2028three", "two lines three"),
        ("half \ud800", "half  "),
        ("Ångström µs 汉字", "Ångström µs 汉字"),
    ],
)
def test_unwanted_characters_become_spaces(hostile: str, ordinary: str) -> None:
    assert plain(hostile) == ordinary


@given(st.text(max_size=600))
def test_the_result_is_printable_encodable_and_bounded(text: str) -> None:
    result = plain(text)
    result.encode("utf-8")
    assert len(result) <= LIMIT
    assert all(c.isprintable() or c.isspace() or ord(c) > 0x7F for c in result)
    assert "\x1b" not in result
    assert "\n" not in result
