"""Values in TOML."""

import json
from collections.abc import Mapping
from typing import Any


def toml(value: Any) -> str:
    """A value in TOML; a JSON string without raw control characters is a TOML basic string."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
