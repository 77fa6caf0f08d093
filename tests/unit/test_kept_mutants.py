"""Outcomes of mutants add up over runs, and apply as long as the source is the same."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LINE = "crates/a/src/b.rs:7:5: replace f -> bool with true"
OTHER = "crates/a/src/b.rs:9:5: replace < with <= in f"
ELSEWHERE = "crates/a/src/c.rs:1:1: replace + with - in g"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kept_mutants", ROOT / "scripts/kept_mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses looks the module up
    spec.loader.exec_module(module)
    return module


mutants = loaded()

OF_B = {"crates/a/src/b.rs": "b1", "crates/a/src/c.rs": "c1"}


def blobs(**changed: str) -> dict[str, str]:
    return {path: changed.get(path[-4], blob) for path, blob in OF_B.items()}


def lines(*rows: tuple[str, str]) -> list[str]:
    return [f"{outcome}\t{mutant}\n" for outcome, mutant in rows]


def outcomes(kept: Any) -> dict[str, str]:
    return {each.mutant: each.outcome for each in kept}


BOTH = lines(("untried", LINE), ("untried", OTHER))


@pytest.mark.parametrize(
    ("mutant", "file"),
    [
        (LINE, "crates/a/src/b.rs"),
        (
            "tlslab.analysis.stats.scaling.x__fit__mutmut_12",
            "python/tlslab/analysis/stats/scaling.py",
        ),
    ],
)
def test_the_name_of_a_mutant_has_its_file(mutant: str, file: str) -> None:
    assert mutants.source_of(mutant) == file


def test_runs_add_up_and_survivors_may_be_tried_again() -> None:
    one = mutants.merged([], "minimal", [*BOTH, *lines(("survived", LINE))], blobs().get)
    assert outcomes(one) == {LINE: "survived", OTHER: "untried"}
    assert mutants.tried(one, "minimal", [], blobs().get) == [LINE]
    assert mutants.tried(one, "minimal", ["survived"], blobs().get) == []
    assert mutants.tried(one, "accounting", [], blobs().get) == []
    two = mutants.merged(one, "minimal", [*BOTH, *lines(("caught", OTHER))], blobs().get)
    assert outcomes(two) == {LINE: "survived", OTHER: "caught"}
    three = mutants.merged(two, "minimal", [*BOTH, *lines(("caught", LINE))], blobs().get)
    assert outcomes(three) == {LINE: "caught", OTHER: "caught"}


def test_a_source_that_has_changed_is_untried() -> None:
    kept = mutants.merged([], "minimal", [*BOTH, *lines(("caught", LINE))], blobs().get)
    changed = blobs(b="b2").get
    assert mutants.tried(kept, "minimal", [], changed) == []
    assert outcomes(mutants.merged(kept, "minimal", BOTH, changed)) == {
        LINE: "untried",
        OTHER: "untried",
    }
    # A mutant that no longer exists has no row.
    assert outcomes(mutants.merged(kept, "minimal", BOTH[1:], blobs().get)) == {OTHER: "untried"}


def test_files_and_parts_that_a_run_does_not_name_keep_their_rows() -> None:
    elsewhere = lines(("untried", ELSEWHERE), ("caught", ELSEWHERE))
    kept = mutants.merged([], "minimal", elsewhere, blobs().get)
    kept = mutants.merged(kept, "accounting", BOTH, blobs().get)
    kept = mutants.merged(kept, "minimal", BOTH[:1], blobs().get)
    assert sorted((each.part, each.mutant) for each in kept) == [
        ("accounting", LINE),
        ("accounting", OTHER),
        ("minimal", LINE),
        ("minimal", ELSEWHERE),
    ]
    gone = {"crates/a/src/b.rs": "b1"}.get
    left = mutants.merged(kept, "minimal", BOTH[:1], lambda path: gone(path, ""))
    assert ELSEWHERE not in outcomes(left)


def test_the_file_is_read_as_it_was_written() -> None:
    kept = mutants.merged([], "minimal", [*BOTH, *lines(("timed-out", LINE))], blobs().get)
    assert outcomes(mutants.read(mutants.written(kept))) == outcomes(kept)
    assert mutants.written(mutants.read(mutants.written(kept))) == mutants.written(kept)


def test_the_mutants_of_mutmut_and_the_outcomes_in_its_log_are_read(tmp_path: Path) -> None:
    meta = tmp_path / "mutants" / "tlslab" / "a.py.meta"
    meta.parent.mkdir(parents=True)
    names = [f"a.x__f__mutmut_{number}" for number in range(1, 6)]
    meta.write_text(json.dumps({"exit_code_by_key": dict.fromkeys(names)}))
    assert [line.split() for line in mutants.made(tmp_path)] == [
        ["untried", name] for name in names
    ]
    marks = "\N{PARTY POPPER}\N{SLIGHTLY FROWNING FACE}?\N{ALARM CLOCK}\N{DOTTED LINE FACE}"
    listed = "\n".join(f"{mark} {name}" for mark, name in zip(marks, names, strict=True))
    log = f"1/5 \N{PARTY POPPER} 1\n\nMutant results\n--------------\n{listed}\n\n"
    assert [line.split() for line in mutants.logged(log)] == [
        ["caught", names[0]],
        ["survived", names[1]],
        ["timed-out", names[3]],
        ["survived", names[4]],
    ]
    assert list(mutants.logged("Stopping...")) == []


def test_the_table_counts_outcomes() -> None:
    kept = mutants.merged([], "minimal", [*BOTH, *lines(("survived", LINE))], blobs().get)
    assert mutants.table(kept).splitlines()[2:6] == [
        "| mutants | 2 | 0 | 0 |",
        "| tried | 1 | 0 | 0 |",
        "| caught | 0 | 0 | 0 |",
        "| survived | 1 | 0 | 0 |",
    ]
    page = f"before\n{mutants.BEGIN}\nold\n{mutants.END}\nafter\n"
    assert mutants.with_table(page, "new") == (
        f"before\n{mutants.BEGIN}\n\nnew\n\n{mutants.END}\nafter\n"
    )
    with pytest.raises(ValueError, match="no place"):
        mutants.with_table("no marks", "new")


def test_the_page_has_the_table_of_what_is_kept() -> None:
    kept = mutants.read(mutants.KEPT.read_text("utf-8"))
    page = mutants.PAGE.read_text("utf-8")
    assert mutants.with_table(page, mutants.table(kept)) == page
