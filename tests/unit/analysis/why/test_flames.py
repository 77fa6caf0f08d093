"""Flame graphs: widths follow the samples, narrow frames are omitted."""

import pytest

from factories.stacks import kept, made_stacks
from tlslab.analysis.why.flames import PRUNED, SEVERAL, flame
from tlslab.analysis.why.rules import load_rules
from tlslab.domain.stacks import Flame


def drawn(**counts: int) -> Flame:
    stacks = {name.replace("__", ";"): count for name, count in counts.items()}
    return flame(made_stacks(stacks), "a cell", load_rules())


def test_frames_are_as_wide_as_their_samples_the_widest_first() -> None:
    found = drawn(p__a=10, p__a__b=20, p__a__c=70)
    assert [(each.name, each.depth, each.left, each.share) for each in found.frames] == [
        ("a", 0, 0.0, 1.0), ("c", 1, 0.0, 0.7), ("b", 1, 0.7, 0.2),
    ]  # fmt: skip


def test_narrow_frames_are_left_out() -> None:
    names = [each.name for each in drawn(p__a=996, p__b=4, p__a__c=6).frames]
    assert names == ["a", "c"]


@pytest.mark.parametrize("cell", kept())
def test_no_frame_is_wider_than_its_caller_or_lies_on_another(cell: str) -> None:
    found = flame(kept()[cell], cell, load_rules())
    callers = {-1: (0.0, 1.0)}
    ends: dict[int, float] = {}
    for each in found.frames:
        left, right = each.left, each.left + each.share
        start, end = callers[each.depth - 1]
        assert start - 1e-9 <= left
        assert right <= end + 1e-9
        assert left >= ends.get(each.depth, 0.0) - 1e-9
        ends[each.depth] = right
        callers[each.depth] = (left, right)
        assert each.share >= PRUNED
    assert 20 < len(found.frames) < 600


def test_frames_that_only_call_have_no_row_without_a_name() -> None:
    stacks = {"p;nginx`main;nginx`?;libssl.so.3`?": 50, "p;nginx`main;nginx`?;nginx`x": 50}
    names = [each.name for each in flame(made_stacks(stacks), "c", load_rules()).frames]
    assert names == ["nginx`main", "libssl.so.3`?", "nginx`x"]


def test_a_frame_of_several_parts_says_so() -> None:
    stacks = {"p;nginx`main;libssl.so.3`x": 50, "p;nginx`main;nginx`x": 50}
    frames = flame(made_stacks(stacks), "c", load_rules()).frames
    assert [each.part for each in frames] == [SEVERAL, "TLS messages", "application"]
