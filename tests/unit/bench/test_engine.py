"""Arms are compared only if each of them kept the server busy."""

from pathlib import Path

import pytest

from bench.engine import AtLimit
from bench.server import Server
from tlslab.domain.errors import CannotRunError

SERVER = Server("localhost", 1, 2, "/document", Path("ca.pem"), 3, Path("facts.log"))


def test_an_arm_that_leaves_the_server_idle_is_named() -> None:
    AtLimit(SERVER, {"one": [0.97, 0.5, 1.0], "two": [1.0]}).require_saturated()
    with pytest.raises(CannotRunError, match="two kept the server's processor 96% busy, not 97%"):
        AtLimit(SERVER, {"one": [1.0], "two": [0.96, 0.96, 1.0]}).require_saturated()
