"""The project itself: documents, Makefile tasks and package are consistent with each other."""

import ast
import re
import stat
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from tlslab.cli.app import app

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# A path below one of these belongs to somebody's machine.
PRIVATE_FOLDERS = ("work", "root", "home", "Users")

TEXT_LIMIT_BYTES = 2_000_000

# The highest number of lines of a function, so that it fits on one screen.
SCREEN_LINES = 60

# Longer functions, with the reason.
LONG_FUNCTIONS = {
    ("crates/programs/src/load/problem.rs", "remedy"): "a table, a row for each class",
    ("crates/tls/src/rustls/session.rs", "receive"): "hot path: one buffer is borrowed throughout",
    ("crates/tls/src/rustls/session/processing.rs", "process"): "hot path: one loop over states",
}

# A function of Rust up to its opening brace: its indentation and its name.
RUST_FUNCTION = re.compile(
    r"^( *)(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe|extern \"C\") )*fn (\w+)"
    r"(?:[^;{\[]|\[[^\]]*\])*\{",
    re.MULTILINE,
)


@cache
def tracked() -> tuple[Path, ...]:
    """All files under version control."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def documents() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def make_targets() -> dict[str, str]:
    """The Makefile's targets with their help texts."""
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split()
    helped = dict(re.findall(r"^([a-z-]+):.*?## (.+)$", text, re.MULTILINE))
    return {name: helped.get(name, "") for name in phony}


def code(text: str) -> list[str]:
    """The lines of a document's shell blocks, and its code spans."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    return [line.partition("#")[0].strip() for block in blocks for line in block.split("\n")] + [
        span.strip() for span in spans
    ]


def test_no_file_names_a_place_of_one_machine() -> None:
    pattern = re.compile(rb"(?<![\w.*-])/(?:" + "|".join(PRIVATE_FOLDERS).encode() + rb")/\w")
    found = [
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in tracked()
        if path.stat().st_size < TEXT_LIMIT_BYTES
        for match in [pattern.search(path.read_bytes())]
        if match
    ]
    assert found == []


def test_every_task_has_a_help_text() -> None:
    assert [name for name, text in make_targets().items() if not text] == []


def test_documents_and_ci_call_tasks_that_exist() -> None:
    texts = {path: code(path.read_text("utf-8")) for path in documents()}
    ci = ROOT / ".ci" / "run"
    texts[ci] = ci.read_text("utf-8").split("\n")
    called = {
        (path.name, target)
        for path, lines in texts.items()
        for line in lines
        for target in re.findall(r"^make ([a-z-]+)$", line)
    }
    assert {"demo", "test", "check"} <= {target for _, target in called}
    assert {(name, target) for name, target in called if target not in make_targets()} == set()


def test_ci_can_be_run() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & stat.S_IXUSR


def test_documents_show_commands_and_options_that_exist() -> None:
    commands = getattr(get_command(app), "commands", {})
    wrong = []
    for path in documents():
        for line in code(path.read_text("utf-8")):
            found = re.match(r"(?:\.venv/bin/)?tlslab ([a-z]+)\b(.*)", line)
            if not found:
                continue
            command = commands.get(found[1])
            known = {name for each in getattr(command, "params", ()) for name in each.opts}
            options = re.findall(r"(?<!\S)--[a-z-]+", found[2])
            if command is None or (found[1] != "load" and not set(options) <= known):
                wrong.append(f"{path.name}: {line}")
    assert wrong == []


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)} -> {link}"
        for path in documents()
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
        if "://" not in link and not (path.parent / link).exists()
    ]
    assert broken == []


def test_decisions_that_are_named_exist() -> None:
    pages = {path.name[:4] for path in (ROOT / "docs" / "adr").glob("[0-9]*.md")}
    named = {
        number
        for path in tracked()
        if path.suffix in (".rs", ".py", ".toml", ".md")
        for number in re.findall(r"docs/adr/(\d{4})|ADR (\d{4})", path.read_text("utf-8"))
        for number in number
        if number
    }
    assert named <= pages


def test_the_package_ships_all_its_data() -> None:
    package = ROOT / "python" / "tlslab"
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["tlslab"]
    data = [path.relative_to(package) for path in tracked() if package in path.parents]
    left_out = [
        str(path)
        for path in data
        if path.suffix != ".py"
        and not any(fnmatch(str(path), pattern.replace("**/", "*")) for pattern in patterns)
    ]
    assert left_out == []


def test_both_parts_have_one_version() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    assert cargo["workspace"]["package"]["version"] == PYPROJECT["project"]["version"]


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    """The functions of a file with the number of their lines."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def rust_functions(path: Path) -> Iterator[tuple[str, int]]:
    """The same for Rust as rustfmt writes it: a body ends at a brace indented like its `fn`."""
    text = path.read_text("utf-8")
    for found in RUST_FUNCTION.finditer(text):
        body = text.find(f"\n{found[1]}}}\n", found.end() - 1)
        if text[found.end() : text.find("\n", found.end())].strip():
            continue  # The whole body is on this line.
        yield found[2], text.count("\n", found.start(), body) + 2


def long_functions(files: Iterable[Path]) -> set[tuple[str, str]]:
    readers = {".py": python_functions, ".rs": rust_functions}
    return {
        (str(path.relative_to(ROOT)), name)
        for path in files
        for name, lines in readers[path.suffix](path)
        if lines > SCREEN_LINES
    }


def test_a_function_is_read_on_one_screen() -> None:
    sources = [path.relative_to(ROOT) for path in tracked() if path.suffix in (".py", ".rs")]
    ours = [
        ROOT / path
        for path in sources
        if path.parts[0] in ("python", "bench", "scripts", "crates", "fuzz")
        and "tests" not in path.with_suffix("").parts
    ]
    assert len(ours) > 500
    assert long_functions(ours) == set(LONG_FUNCTIONS)


def test_no_test_passed_only_at_the_second_attempt_three_times() -> None:
    """After the third time a test is mended at its cause, or goes."""
    file = ROOT / "tests" / "full-run.toml"
    again = tomllib.loads(file.read_text("utf-8"))["passed_at_second_attempt"]
    assert [name for name, days in again.items() if len(days) >= 3] == []
