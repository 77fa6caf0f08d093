"""The page on mutation testing has the counts of the kept outcomes."""

from kept.scripts import script

mutants = script("kept_mutants")


def test_the_page_has_the_table_of_the_kept_outcomes() -> None:
    kept = mutants.read(mutants.KEPT.read_text("utf-8"))
    page = mutants.PAGE.read_text("utf-8")
    assert mutants.with_table(page, mutants.table(kept)) == page
