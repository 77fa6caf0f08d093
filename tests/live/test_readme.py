"""Runs the commands of README behind the studies as written, in order (live.documents).

The studies have a separate file, so that another worker runs them at the same time.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from live.documents import LIMIT_S, carry_out, parts_of_readme


@pytest.mark.capability("README: what else tlslab does")
@pytest.mark.timeout(LIMIT_S + 60)
def test_every_command_works_as_it_stands(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _, rest = parts_of_readme()
    record_property("commands", carry_out(rest, tmp_path, forked=True, timed=True)[1:])
