"""The check of banned words: finds misuse, accepts the field's own use, and takes paths."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def loaded() -> ModuleType:
    """The script, whose file name is not a module's name."""
    spec = importlib.util.spec_from_file_location("check_words", ROOT / "scripts/check-words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses looks the module up
    spec.loader.exec_module(module)
    return module


words = loaded()

RULES = words.rules((ROOT / "docs/glossary.md").read_text("utf-8"))


def found(text: str) -> list[tuple[int, str]]:
    return [(hit.line, hit.found) for hit in words.hits("a.md", text, RULES)]


@pytest.mark.parametrize(
    "text",
    [
        "record.own_client",
        "OwnClient",
        "the laws of a reader",
        "a_wrong_law_in_a_thousand_distances",
        "[workload.steady]",
        "crosses the seam",
        "between the begin and the end",
        "it tells what was negotiated",
        "a document of so many bytes",
        'kind = "load"',
    ],
)
def test_a_banned_word_is_found(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "a server and a client of its own",
        "Little's law",
        "use aws_lc_rs::{agreement, kem};",
        "the steady state of a warm-up",
        "the certificate's serial number",
        "seamless",
        "threads begin and end",
        "cannot be told apart",
        "left out in so many words",
    ],
)
def test_the_fields_own_use_is_not(text: str) -> None:
    assert found(text) == []
