"""Calls to an actor on a node, and the heartbeat that keeps it alive."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.host import HostLostError

BEAT_S = 1.0

# Part of Ray's message about an actor whose node died. Each message about a dead actor names the
# node.
NODE_DIED = "its node has died"


class RayCalls:
    """The methods of one actor, as `remote.Calls`. A lost host stays lost."""

    def __init__(self, actor: Any, name: str, closed: Callable[["RayCalls"], None]) -> None:
        self._actor = actor
        self._name = name
        self._closed = closed
        self._lost = ""
        self._beat: Any = None

    def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
        """The result of the method on the node. Raises HostLostError."""
        if self._lost:
            raise HostLostError(self._lost)
        try:
            return ray.get(getattr(self._actor, method).remote(*arguments), timeout=seconds)
        except GetTimeoutError:
            self._lost = f"no answer within {seconds:.0f} s"
        except ray.exceptions.RayTaskError as error:
            raise EngineError("engine_failed", f"{self._name}: {_line(error.cause)}") from None
        except RayError as error:
            self._lost = _why(error)
        raise HostLostError(self._lost)

    def beat(self) -> None:
        """Reports to the node that its head is alive, unless the last call is still under way."""
        if self._lost:
            return
        with suppress(RayError):
            if self._beat is None or ray.wait([self._beat], timeout=0)[0]:
                self._beat = self._actor.beat.remote()

    def kill(self) -> None:
        """Ends the actor, and with it all engines on its node."""
        self._lost = self._lost or "it was closed"
        with suppress(RayError):
            ray.kill(self._actor)

    def close(self) -> None:
        """See `remote.Calls`."""
        self.kill()
        self._closed(self)


class Heartbeat:
    """A thread that calls each node once a second."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, all_calls: Sequence[RayCalls]) -> None:
        """Starts the calls."""
        self._thread = threading.Thread(target=self._run, args=(tuple(all_calls),), daemon=True)
        self._thread.start()

    def _run(self, all_calls: Sequence[RayCalls]) -> None:
        while not self._stop.wait(BEAT_S):
            for calls in all_calls:
                calls.beat()

    def stop(self) -> None:
        """Ends the calls."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


def _why(error: RayError) -> str:
    """The cause of an actor's loss in a few words; Ray's own message has many lines."""
    if NODE_DIED in str(error):
        return "its node died, or cannot be reached"
    if isinstance(error, ray.exceptions.ActorUnavailableError):
        return "it cannot be reached"
    return "its process died"


def _line(error: object) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
