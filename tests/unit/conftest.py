"""Fixtures for all tests of single parts."""

from collections.abc import Iterator

import psutil
import pytest


@pytest.fixture(autouse=True, scope="module")
def _leaves_no_process() -> Iterator[None]:
    """The process that one file leaves is found by the next that counts its children."""
    own = psutil.Process()
    before = set(own.children(recursive=True))
    yield
    left = [p for p in own.children(recursive=True) if p not in before]
    assert not psutil.wait_procs(left, timeout=5)[1]
