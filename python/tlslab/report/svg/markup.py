"""Elements of an SVG as escaped text, with short coordinates."""

from collections.abc import Iterable

from markupsafe import Markup, escape

from tlslab.domain.plain import plain

# No characters of XML, but kept by `plain`, because a terminal ignores them.
_NOT_XML = dict.fromkeys((0xFFFE, 0xFFFF), " ")

Attribute = str | float | None


def clean(text: str, limit: int = 300) -> str:
    """A text from outside, usable in an attribute or an element's content once escaped."""
    return plain(text, limit).translate(_NOT_XML).strip()


def number(value: float) -> str:
    """A coordinate in pixels, rounded to a tenth: `12`, `12.5`."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def tag(name: str, *content: str, **attributes: Attribute) -> Markup:
    """An element. `class_` is the attribute `class`, `data_x` is `data-x`; None omits an attribute.

    Content that is not Markup is escaped.
    """
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            text = value if isinstance(value, str) else number(value)
            words.append(f'{key.rstrip("_").replace("_", "-")}="{escape(text)}"')
    inside = joined(content)
    opening = " ".join(words)
    return Markup(f"<{opening}>{inside}</{name}>" if inside else f"<{opening}/>")


def joined(parts: Iterable[str]) -> Markup:
    """Elements one after another; strings that are not Markup are escaped."""
    return Markup("").join(parts)


def path(*steps: str | float) -> str:
    """The data of a path: letters as they are, numbers as coordinates."""
    text = ""
    for step in steps:
        word = step if isinstance(step, str) else number(step)
        text += f" {word}" if text and text[-1].isdigit() and word[0].isdigit() else word
    return text


def outline(places: Iterable[tuple[float, float]]) -> str:
    """The data of a path through these positions."""
    return "".join(path(" " if index else "M", *at) for index, at in enumerate(places))
