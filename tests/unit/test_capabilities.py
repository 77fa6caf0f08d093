"""What README promises has a test in `make test`: the marks `capability`, and their table."""

import ast
from collections.abc import Iterator
from pathlib import Path

import run_tests

from live.documents import bare, lines_of, read

ROOT = Path(__file__).parents[2]


def marks() -> Iterator[tuple[str, str]]:
    """Each capability that a test is marked with, and the test."""
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for call in node.decorator_list:
                if (
                    isinstance(call, ast.Call)
                    and ast.unparse(call.func) == "pytest.mark.capability"
                ):
                    [name] = map(ast.literal_eval, call.args)
                    yield name, f"{path.relative_to(ROOT)}::{node.name}"


def promised() -> set[str]:
    """The commands in README's blocks, as the table has them."""
    return {f"`{bare(line)}`" for line in lines_of(read("README.md")) if line.startswith("tlslab")}


def table() -> set[tuple[str, str]]:
    """The rows of CONTRIBUTING's table: a capability and its test."""
    _, _, rest = run_tests.CONTRIBUTING.read_text("utf-8").partition(run_tests.TABLE[0])
    rows = [line.split(" | ") for line in rest.partition(run_tests.TABLE[1])[0].splitlines()]
    return {
        (row[0].removeprefix("| "), row[1].strip("`"))
        for row in rows
        if len(row) == 3 and row[1].startswith("`")
    }


def test_readme_itself_is_in_make_test() -> None:
    readme = {test for name, test in marks() if name.startswith("README")}
    assert len(promised()) > 30
    assert {name for name, test in table() if test in readme and name[0] == "`"} == promised()


def test_the_table_has_every_capability_with_its_test() -> None:
    """After a change of marks or README: `make test-all STAGES="capabilities hosts"`."""
    assert {row for row in table() if row[0] not in promised()} == set(marks())
