"""The capacity of a server in words, with its reservation."""

import pytest

from tlslab.analysis.capacity.points import capacity
from tlslab.domain.loads import Load
from tlslab.words.capacity import capacity_words

LOADS = {
    "up to 3,200/s, confirmed by 2 runs at 3,360/s; not at 3,528/s": (
        (3200, "met", 1), (3360, "met", 2), (3528, "missed", 1),
    ),
    "up to 3,200/s, not confirmed by a load 5 % above; not at 3,500/s": (
        (1600, "met", 3), (3200, "met", 3), (3500, "missed", 3),
    ),
    "up to 3,200/s, not confirmed: by 1 run at 3,360/s only; loads from 3,528/s on could not be "
    "judged": ((3200, "met", 3), (3360, "met", 1), (3528, "late", 3)),
    "at no load that could be judged, from 400/s on": ((400, "missed", 3), (800, "met", 3)),
}  # fmt: skip


@pytest.mark.parametrize("words", LOADS)
def test_a_capacity_has_its_reservation(words: str) -> None:
    loads = [Load(n / 1000, n, runs, 1.0, outcome) for n, outcome, runs in LOADS[words]]  # type: ignore[arg-type]
    assert capacity_words(capacity(loads)) == words
