"""The reference names every option of both programs."""

import re
import subprocess
from pathlib import Path

import pytest

from tlslab.servers.programs import require_program

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("program", ["tlslab-load", "tlslab-serve"])
def test_every_option_stands_in_the_reference(program: str) -> None:
    said = subprocess.run(
        [require_program(program), "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9][a-z0-9-]+)", said, re.MULTILINE))
    assert len(options) > 10
    pages = "".join((REFERENCE / name).read_text("utf-8") for name in ("cli.md", "probe.md"))
    named = set(re.findall(r"--[a-z0-9][a-z0-9-]+", pages))
    assert options - named == set()
