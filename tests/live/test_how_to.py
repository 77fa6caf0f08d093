"""Runs the commands of the first part of docs/how-to.md as written, in order (live.documents).

Those that README has as well are run by its test.
"""

from pathlib import Path

import pytest

from live.documents import LIMIT_S, SECOND_PART, SHARED, carry_out, read, split

pytestmark = pytest.mark.stage("documents")


@pytest.mark.timeout(LIMIT_S + 60)
def test_every_command_works_as_it_stands(tmp_path: Path) -> None:
    first, _ = split(read("docs/how-to.md"), SECOND_PART)
    carry_out(first, tmp_path, forked=True, elsewhere=SHARED)
