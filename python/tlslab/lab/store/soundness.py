"""Checks of what is read from a run folder, beyond the form of its JSON.

Analysis divides by times, compares them and decodes histograms; damage has to be reported with file
and line, which only the reader knows.
"""

import base64
import json
import math
import zlib
from collections.abc import Iterator
from typing import Any

from tlslab.domain.errors import StoreError
from tlslab.domain.run import Environment, instant
from tlslab.domain.trial import Trial, TrialRun

# The first number of a compressed HdrHistogram V2, the bits in it that hold its word size, and the
# length of what comes before the compressed rest.
_COOKIE = 0x1C849304
_WORD_SIZE = 0xF0
_HEAD_BYTES = 8


def read_finite(text: str | bytes) -> Any:
    """The value of a text in JSON. Raises ValueError, also for NaN and for what is infinite."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text:.60} is not a finite number")
    return found


def check_trial(trial: Trial) -> None:
    """Raises ValueError, StoreError for a trial that no analysis can use."""
    instant(trial.started)
    for kind, run in trial.runs.items():
        if run.server is not None and run.server.seconds <= 0:
            raise StoreError(f"{kind}: the server's seconds are {run.server.seconds:g}")
        for name, encoded in _histograms(run):
            if not _is_whole(encoded):
                raise StoreError(f"{kind}: the histogram '{name}' is damaged")


def check_environment(environment: Environment) -> None:
    """Raises StoreError for an environment without the time of the run."""
    try:
        instant(environment.created)
    except ValueError as error:
        raise StoreError(f"'created': {error}") from None


def _histograms(run: TrialRun) -> Iterator[tuple[str, str]]:
    yield from run.record.histograms.items()
    for client, times in run.record.clients.items():
        for name, encoded in times.histograms.items():
            yield f"{client}.{name}", encoded


def _is_whole(encoded: str) -> bool:
    """Whether the checksum of a histogram holds; that takes a hundredth of the time of decoding."""
    if not encoded:
        return True
    try:
        data = base64.b64decode(encoded, validate=True)
        zlib.decompress(data[_HEAD_BYTES:])
    except (ValueError, zlib.error):
        return False
    cookie, length = int.from_bytes(data[:4]), int.from_bytes(data[4:_HEAD_BYTES])
    return cookie & ~_WORD_SIZE == _COOKIE and length == len(data) - _HEAD_BYTES
