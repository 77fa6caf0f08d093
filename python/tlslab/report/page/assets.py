"""Styles and scripts inside a page, and the policy that allows only these."""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources

from markupsafe import Markup


@cache
def asset(*names: str) -> Markup:
    """Files of `templates`, one after another, as the content of an element of the page."""
    folder = resources.files("tlslab.report") / "templates"
    return Markup("\n".join((folder / name).read_text("utf-8").strip() for name in names))


def policy(styles: Iterable[str], scripts: Iterable[str] = ()) -> Markup:
    """The content security policy of a page with these texts inside its elements.

    Nothing is fetched, and only texts with one of the hashes run or style the page (W3C, "Content
    Security Policy Level 3", 2.3.1).
    """
    rules = [
        "default-src 'none'",
        f"style-src {_sources(styles)}",
        f"script-src {_sources(scripts)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return Markup("; ".join(rules))


def _sources(texts: Iterable[str]) -> str:
    hashes = [
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in texts
    ]
    return " ".join(hashes) or "'none'"
