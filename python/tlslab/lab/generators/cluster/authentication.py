"""Checks that a cluster within reach of other machines requires a token.

Any program that such a cluster accepts can run programs on all of its nodes.
"""

import os
import subprocess
import sys

from tlslab.domain.errors import CannotRunError, UsageError

REMEDY = (
    "on every node: the same token in ~/.ray/auth_token (`ray get-auth-token --generate` makes "
    "one), and RAY_AUTH_MODE=token in the environment of `ray start` and of `tlslab`"
)

KNOCK_S = 20.0

LOOPBACK = ("127.0.0.1", "::1")

# Tests the cluster's reaction to a program without the token, or with this machine's. The program
# is a separate process, because Ray reads its environment only once.
_KNOCK = """
import sys
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1])
except AuthenticationError:
    sys.exit(7)
"""
_REFUSED = 7


def require_token(place: str) -> None:
    """Refuses the cluster at `HOST:PORT` unless it requires a token and accepts this machine's.

    Raises UsageError, and CannotRunError if that cannot be determined.
    """
    if os.environ.get("RAY_AUTH_MODE") != "token":
        raise UsageError(f"the Ray cluster {place} is refused without token authentication", REMEDY)
    own, none = (_knock(place, {}), _knock(place, {"RAY_AUTH_MODE": "disabled"}))
    if _let_in(place, none):
        raise UsageError(f"the Ray cluster {place} is refused: it asks for no token", REMEDY)
    if not _let_in(place, own):
        raise UsageError(f"the Ray cluster {place} does not take the token of this machine", REMEDY)


def is_loopback(place: str) -> bool:
    """Whether a node at an address, or at `HOST:PORT`, is within reach of this machine only.

    Ray listens on loopback alone if the node's address is one of LOOPBACK, and on all addresses if
    it is any other, even 127.0.0.2.
    """
    host = place.rpartition(":")[0] if place.count(":") == 1 or "]:" in place else place
    return host.strip("[]") in LOOPBACK


def _knock(place: str, variables: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _KNOCK, place],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _let_in(place: str, child: subprocess.Popen[str]) -> bool:
    try:
        words = child.communicate(timeout=KNOCK_S)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        words = child.communicate()[1] or f"no answer within {KNOCK_S:.0f} s"
    if child.returncode in (0, _REFUSED):
        return child.returncode == 0
    last = (words.strip().splitlines() or ["it said nothing"])[-1]
    raise CannotRunError(f"the Ray cluster {place} cannot be asked for its authentication: {last}")
