"""Runs every command of docs/how-to.md as written, in order (live.documents)."""

from pathlib import Path

import pytest

from live.documents import LIMIT_S, carry_out


@pytest.mark.timeout(LIMIT_S + 60)
def test_every_command_works_as_it_stands(tmp_path: Path) -> None:
    carry_out("docs/how-to.md", tmp_path)
