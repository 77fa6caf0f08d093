"""Runs the commands of the second part of docs/how-to.md as written, in order (live.documents).

In a file of its own, so that another worker runs them at the same time. Those that README has as
well are run by its test.
"""

from pathlib import Path

import pytest

from live.documents import LIMIT_S, SECOND_PART, SHARED, carry_out, read, split

pytestmark = pytest.mark.stage("documents")


@pytest.mark.timeout(LIMIT_S + 60)
def test_every_command_works_as_it_stands(tmp_path: Path) -> None:
    _, second = split(read("docs/how-to.md"), SECOND_PART)
    carry_out(second, tmp_path, forked=True, elsewhere=SHARED)
