"""The cost of bytes that a fit gives, beside what their encryption alone costs this machine. Pure.

Beside its encryption a byte costs the server a copy or two: a few times as much. A fit that gives
far more has put another part's cost, or noise, into the bytes.
"""

from collections.abc import Mapping

from tlslab.analysis.costs.cost_parts import KILO, KILOBYTE, bytes_part
from tlslab.analysis.costs.model import CostModel
from tlslab.analysis.limit import cipher_of
from tlslab.analysis.primitive_costs import cost_us
from tlslab.contract.primitives import Primitives
from tlslab.domain.wording import figure

# Bytes that cost this many times their encryption are implausible.
MOST = 30.0

# The bytes of a record (RFC 8446, section 5.1) in which encryption is measured.
_RECORD = 16_384


def implausible_bytes(model: CostModel, primitives: Primitives | None) -> dict[str, str]:
    """The parts with an implausible cost of bytes, each with the reason.

    Empty without the primitives of the machine.
    """
    found: dict[str, str] = {}
    if primitives is None:
        return found
    for factors in model.experiment.fitted():
        part, suites = bytes_part(factors, model.experiment), model.experiment.suites(factors)
        counts: Mapping[str, float] = {KILOBYTE: 1.0, part: 1.0}
        if part in found or len(suites) != 1 or model.unknown_of(counts):
            continue
        record = cost_us(primitives, cipher_of(suites[0]), "seal", _RECORD)
        cost = model.sum_of(counts).value
        if record and cost > MOST * (sealed := record * KILO / _RECORD):
            times = figure(cost / sealed)
            found[part] = (
                f"by the fit 1,000 bytes cost {figure(cost)} µs, {times} times what their "
                f"encryption costs this machine ({figure(sealed)} µs): implausible"
            )
    return found
