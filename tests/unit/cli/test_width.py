"""The width of the output, as COLUMNS gives it."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("columns", ["0", "19", "wide"])
def test_a_width_that_holds_no_word_is_passed_over(columns: str) -> None:
    """Neither errors nor the parser's help are lost."""
    for arguments, words in (
        (["targets", "nonsense"], "error: unknown target 'nonsense'"),
        (["-h"], "laboratory for TLS performance"),
    ):
        line = [sys.executable, "-m", "tlslab", *arguments]
        environment = {**os.environ, "COLUMNS": columns}
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)
        assert words in done.stdout + done.stderr
