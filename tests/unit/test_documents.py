"""The blocks of README, tutorial and how-to, as the tests in tests/live carry them out."""

import re

import pytest

from live.documents import (
    ROOT,
    SECOND_PART,
    SHARED,
    bare,
    blocks,
    lines_of,
    parts_of_readme,
    read,
    split,
)

# Blocks that cannot be run here, by document. The number changes only by a decision.
NOT_RUN = {
    "README.md": 1,
    "docs/tutorial.md": 1,
    "docs/how-to.md": 13,
}

# An address with a port that a document uses: the servers and pages of its commands.
PLACE = re.compile(r"(?:127\.0\.0\.1|localhost):(\d+)")


@pytest.mark.parametrize("document", NOT_RUN)
def test_blocks_that_are_not_run_are_few_and_have_a_reason(document: str) -> None:
    left_out = [b for b in blocks(read(document)) if b.reason is not None]
    assert len(left_out) == NOT_RUN[document]
    assert all(len(block.reason or "") > 10 for block in left_out)


def test_no_block_escapes_for_want_of_a_name() -> None:
    for document in NOT_RUN:
        text = read(document)
        fences = re.findall(r"^```(.*)$", text, re.MULTILINE)[::2]
        assert set(fences) <= {"sh", "python", "", "json", "toml", "yaml"}, document


def test_no_answer_of_readme_is_left_to_be_filled_in() -> None:
    assert not re.findall(r"(?:^|\s)@\w+", read("README.md"))


def ports(*texts: str) -> set[str]:
    """The ports that the commands of documents use."""
    return {port for each in texts for line in lines_of(each) for port in PLACE.findall(line)}


def test_documents_that_run_at_the_same_time_take_other_ports() -> None:
    first, second = (ports(part) for part in split(read("docs/how-to.md"), SECOND_PART))
    others = ports(read("README.md"), read("docs/tutorial.md"))
    assert len(others) > 1
    assert len(first) > 1
    assert len(second) > 0
    assert len(others | first | second) == len(others) + len(first) + len(second)


def test_the_parts_of_the_how_to_are_all_of_it() -> None:
    text = read("docs/how-to.md")
    first, second = (lines_of(part) for part in split(text, SECOND_PART))
    path = lines_of(text)[:1]
    assert path == ['export PATH="$PWD/.venv/bin:$PATH"']
    assert [*first, *second[1:]] == lines_of(text)
    assert second[:1] == path
    # What the second part needs is made in it: run folders of the first part are not there.
    made = set(re.findall(r"--out (runs/\w+)", "\n".join(second)))
    used = set(re.findall(r"(?<!--out )\b(runs/[a-z-]+)", "\n".join(second)))
    assert used <= made


@pytest.mark.parametrize("document", ["README.md", "docs/how-to.md"])
def test_a_shared_command_is_in_both_documents(document: str) -> None:
    assert set(SHARED) <= {bare(line) for line in lines_of(read(document))}


def test_the_parts_of_readme_are_all_of_it() -> None:
    studies, rest = map(lines_of, parts_of_readme())
    assert [*studies, *rest[2:]] == lines_of(read("README.md"))
    assert rest[:2] == studies[:2]


def test_each_row_of_what_was_tried_names_tests_that_exist() -> None:
    rows = [line for line in read("docs/tried.md").splitlines() if line.startswith("| [")]
    assert len(rows) >= 20
    sources = [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("tests/**/*.py")]
    code = "\n".join(path.read_text("utf-8") for path in sources)
    existing = set(re.findall(r"^\s*(?:fn|def) (\w+)", code, re.MULTILINE))
    for row in rows:
        verdict, tests = (cell.strip() for cell in row.split(" | ")[-2:])
        assert verdict in ("right", "mended"), row
        named = set(re.findall(r"`(\w+)(?:\[\w+\])?`", tests))
        assert named <= existing, row
        assert named or tests.startswith("the same"), row
