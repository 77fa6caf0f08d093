"""Configuration files from templates."""

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
