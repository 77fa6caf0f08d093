"""Measures, by the engine, the primitives that a plan's cells consist of."""

from collections.abc import Sequence

from tlslab.contract.primitives import Primitives
from tlslab.domain.names import CERTIFICATE_KEYS, find_group, find_suite
from tlslab.domain.plan import Plan
from tlslab.lab.generators import GeneratorPool

# The time for each primitive. With two libraries a plan of six groups takes about a second.
TIME = "8ms"

# The default size of a response of the engine's own listener, and the largest one, in bytes.
_RESPONSE_BYTES = 2048
_RESPONSE_LIMIT = 32_768

# The size of a response's head, in addition to the document.
_HEAD_BYTES = 200


def measure_primitives(
    engine: GeneratorPool, plan: Plan, document_bytes: int, processors: Sequence[int]
) -> Primitives:
    """The primitives of all cells, on the generator's processor. Raises EngineError."""
    flags = ["--time", TIME]
    for cell in plan.cells:
        flags += _flags("--group", [g for g in cell.profile.groups if find_group(g)])
        flags += _flags("--suite", [s for s in cell.profile.suites if find_suite(s)])
        key = cell.factors.get("key", "")
        flags += _flags("--certificate", [key] if key in CERTIFICATE_KEYS else [])
    size = min(_RESPONSE_LIMIT, document_bytes + _HEAD_BYTES if document_bytes else _RESPONSE_BYTES)
    flags += ["--response-bytes", str(size)]
    if processors:
        flags += ["--cpu", str(processors[0])]
    return engine.primitives(_once(flags))


def _flags(name: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (name, value)]


def _once(flags: Sequence[str]) -> list[str]:
    """Each option with each of its values once, in order of first appearance."""
    pairs = dict.fromkeys(zip(flags[::2], flags[1::2], strict=True))
    return [part for pair in pairs for part in pair]
