"""Runs every command of the tutorial as written, in order (live.documents)."""

from pathlib import Path

import pytest

from live.documents import LIMIT_S, carry_out, read

pytestmark = pytest.mark.stage("documents")


@pytest.mark.timeout(LIMIT_S + 60)
def test_every_command_of_the_tutorial_works_as_it_stands(tmp_path: Path) -> None:
    carry_out(read("docs/tutorial.md"), tmp_path)
