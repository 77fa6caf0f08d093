"""Call stacks in a run folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from factories.stacks import DERIVE, kept, made_stacks
from tlslab.domain.errors import StoreError
from tlslab.domain.run import TargetInfo
from tlslab.experiment import dumps, load, make_plan
from tlslab.lab.opening import describe
from tlslab.lab.placement import Placement
from tlslab.lab.store import RunFolder
from tlslab.lab.store.folder import pack, unpack

EXPERIMENT = load("groups", "quick")
INFO = TargetInfo("reference", True, "tlslab-serve", "openssl", (0,), "127.0.0.1", "/bytes/1")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    environment = describe(INFO, Placement((0,), (1,)), ["tlslab", "run"], [])
    return RunFolder.create(
        tmp_path / "r", dumps(EXPERIMENT), make_plan(EXPERIMENT, 3), environment
    )


def test_stacks_are_read_back_as_they_were(folder: RunFolder) -> None:
    assert folder.stacks() == ()
    for each in kept().values():
        folder.append_stacks(each)
    assert folder.stacks() == tuple(kept().values())


def test_stacks_are_kept_small(folder: RunFolder) -> None:
    each = max(kept().values(), key=lambda stacks: len(stacks.folded))
    folder.append_stacks(each)
    assert (folder.path / "stacks.jsonl").stat().st_size < len(each.folded) / 5


def test_later_stacks_of_a_cell_replace_a_reason(folder: RunFolder) -> None:
    without = replace(made_stacks({}, reason="perf is not installed"), folded="")
    found = made_stacks({DERIVE: 7})
    folder.append_stacks(without)
    folder.append_stacks(found)
    assert folder.stacks() == (found,)


def test_a_torn_last_line_has_no_stacks(folder: RunFolder) -> None:
    folder.append_stacks(made_stacks({DERIVE: 7}))
    path = folder.path / "stacks.jsonl"
    path.write_bytes(path.read_bytes()[:-3])
    assert folder.stacks() == ()


@pytest.mark.parametrize("word", ["%%%", "QUJD", pack("a stack 1")[:-5]])
def test_damaged_stacks_are_one_line_that_names_the_place(folder: RunFolder, word: str) -> None:
    folder.append_stacks(made_stacks({DERIVE: 7}))
    path = folder.path / "stacks.jsonl"
    path.write_text(path.read_text().replace(pack(f"{DERIVE} 7"), word))
    with pytest.raises(StoreError, match=r"stacks\.jsonl"):
        folder.stacks()


@pytest.mark.parametrize("text", ["", "a 1", "é;`" * 1000])
def test_packed_texts_are_the_same_again(text: str) -> None:
    assert unpack(pack(text)) == text
