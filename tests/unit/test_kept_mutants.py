"""The page on mutation testing has the counts of the kept outcomes."""

from kept.scripts import script

mutants = script("kept_mutants")
LINE = "crates/a/src/b.rs:7:5: replace f -> bool with true"


def test_the_page_has_the_table_of_the_kept_outcomes() -> None:
    kept = mutants.read(mutants.KEPT.read_text("utf-8"))
    page = mutants.PAGE.read_text("utf-8")
    assert mutants.with_table(page, mutants.table(kept)) == page


def test_a_mutant_of_a_source_that_has_changed_is_untried() -> None:
    listed = f"untried\t{LINE}\n"
    kept = mutants.merged([], "minimal", [listed, f"caught\t{LINE}\n"], lambda _: "b1")
    assert [each.outcome for each in kept] == ["caught"]
    kept = mutants.merged(kept, "minimal", [listed], lambda _: "b2")
    assert [each.outcome for each in kept] == ["untried"]
