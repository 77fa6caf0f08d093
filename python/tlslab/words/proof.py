"""The sentences of a proof: two configurations side by side."""

from collections.abc import Sequence

from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import counted, percent
from tlslab.words.sentence import Sentences


def _break_even(values: Values, cells: Sequence[str], summary: Summary) -> str:
    share = values["share"]
    side, other = ("at most", "returning") if values["at_most"] else ("at least", "new")
    return (
        f"By the server's processor time the candidate pays as long as {side} "
        f"{percent(share.value)} of connections (95 %: {percent(share.low)} to "
        f"{percent(share.high)}) are returning clients': {other} ones cost more with it. The "
        f"verdict takes {percent(values['assumed'])} for granted (--returning)."
    )


def _not_asked(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return "The load has no connections that are kept open: the verdict is on connections alone."


def _alike(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        "The probe sees the same versions, suites and groups with both, and the measured client "
        "negotiates the same: whatever differs is not seen in a handshake."
    )


def _ended(values: Values, cells: Sequence[str], summary: Summary) -> str:
    blocks, planned = values["blocks"], values["planned_blocks"]
    if blocks >= planned:
        return f"The run took all of its {counted(planned, 'block')}."
    return f"The run ended after {blocks} of at most {planned} blocks."


SENTENCES: Sentences = {
    "alike": _alike,
    "break_even": _break_even,
    "ended": _ended,
    "not_asked": _not_asked,
}
