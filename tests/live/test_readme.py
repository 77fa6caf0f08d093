"""Runs the questions of README as written, in order (live.documents).

The commands behind them have a separate file, so that another worker runs them at the same time.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from live.documents import LIMIT_S, carry_out, parts_of_readme


@pytest.mark.capability("README: by question")
@pytest.mark.timeout(LIMIT_S + 60)
def test_every_command_works_as_it_stands(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    questions, _ = parts_of_readme()
    record_property("commands", carry_out(questions, tmp_path, forked=True, timed=True))
