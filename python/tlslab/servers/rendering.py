"""Files in a server's folder: its configuration, from a template, and the document."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_TEMPLATES = Environment(
    loader=PackageLoader("tlslab.servers"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render(template: str, into: Path, values: dict[str, Any]) -> Path:
    """Writes a filled-in template of this package to a file; a missing value raises an error."""
    into.write_text(_TEMPLATES.get_template(template).render(values), "utf-8")
    return into


FOLDER = "documents"
NAME = "document"
PATH = f"/{NAME}"


def write_document(folder: Path, size: int) -> Path:
    """Writes a document of N bytes into the folder's `documents`; returns the file."""
    (folder / FOLDER).mkdir(exist_ok=True)
    document = folder / FOLDER / NAME
    document.write_bytes(bytes(number % 251 for number in range(size)))
    return document
