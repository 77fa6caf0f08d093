"""The shape of the crates: no import cycles among modules, and no type spread over files.

Cargo rejects cycles of crates. Inside a crate, the children of each folder may import one another
in one direction only, as import-linter checks for Python; and the inherent methods of a type are in
the file that defines it. Tests beside the code are left out: they may import whatever they test.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"
IMPORT = re.compile(r"\b(crate|(?:super::)*super|self)::(\{[^;]*?\}|[\w:]+)")
COMMENT = re.compile(r"//.*")
TESTS = re.compile(r"#\[cfg\((?:all\()?(?:any\()?test")
DEFINITION = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|union) (\w+)", re.MULTILINE)
IMPL = re.compile(r"^(?:unsafe )?impl\b([^{;]*)\{", re.MULTILINE)
ANGLES = re.compile(r"<[^<>]*>")

# Types with methods in another file, with the reason.
SPREAD = {
    ("contract/src/spec/resumption.rs", "TlsSpec"): "a specification: all fields are public",
    ("serve/src/http/response.rs", "Status"): "an enum: there are no private fields",
    ("wire/src/tls/server_flight.rs", "Flight"): "what is read is data: all fields are public",
}


def module_of(file: Path, sources: Path) -> tuple[str, ...]:
    """The path of a file's module inside its crate; empty for the crate's root."""
    parts = file.relative_to(sources).with_suffix("").parts
    if parts[-1] in ("mod", "lib", "main"):
        parts = parts[:-1]
    return parts


def of_tests(file: Path, sources: Path) -> bool:
    return "tests" in file.relative_to(sources).with_suffix("").parts


def paths(braces: str) -> Iterator[str]:
    """The paths in the braces of a `use`, those of braces inside them included."""
    flat = re.sub(r"::\{[^{}]*\}", "", braces[1:-1])
    for path in flat.split(","):
        if path.strip():
            yield path.strip()


def imports(code: str, module: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The modules, or items in them, that a file names, as paths inside its crate."""
    for match in IMPORT.finditer(COMMENT.sub("", TESTS.split(code)[0])):
        start, names = match.groups()
        if start == "crate":
            base: tuple[str, ...] = ()
        elif start == "self":
            base = module
        else:
            base = module[: len(module) - start.count("super")]
        for name in paths(names) if names.startswith("{") else [names]:
            yield (*base, *(part for part in name.split("::") if part))


def graphs(sources: Path) -> dict[tuple[str, ...], dict[str, set[str]]]:
    """For each folder, the imports among its children."""
    files = [file for file in sources.rglob("*.rs") if not of_tests(file, sources)]
    modules = {module_of(file, sources) for file in files}
    found: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for file in files:
        module = module_of(file, sources)
        for path in imports(file.read_text(), module):
            for depth in range(min(len(module), len(path))):
                if module[:depth] != path[:depth]:
                    break
                ours, theirs = module[depth], path[depth]
                if ours != theirs and (*path[:depth], theirs) in modules:
                    found[module[:depth]][ours].add(theirs)
    return found


def source_folders() -> list[Path]:
    programs = sorted((CRATES / "programs/src/bin").iterdir())
    return [*sorted(CRATES.glob("*/src")), *(folder for folder in programs if folder.is_dir())]


@pytest.mark.parametrize(
    "sources", source_folders(), ids=lambda path: str(path.relative_to(CRATES))
)
def test_modules_of_a_crate_import_one_another_in_one_direction(sources: Path) -> None:
    for folder, graph in graphs(sources).items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = " -> ".join(reversed(error.args[1]))
            pytest.fail(f"an import cycle in {sources / Path(*folder)}: {cycle}")


def test_an_import_cycle_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod one;\nmod two;\nmod three;\n")
    (tmp_path / "one.rs").write_text("use super::two::Two;\nuse crate::{three::Three, two};\n")
    (tmp_path / "two.rs").write_text("// use crate::one::One;\nuse super::three;\n")
    (tmp_path / "three.rs").write_text("#[cfg(test)]\nmod tests { use crate::one::One; }\n")
    assert graphs(tmp_path) == {(): {"one": {"two", "three"}, "two": {"three"}}}
    (tmp_path / "three.rs").write_text("use crate::{nothing, one::{One, Other}};\n")
    with pytest.raises(CycleError):
        TopologicalSorter(graphs(tmp_path)[()]).prepare()


def spread_types(sources: Path) -> set[tuple[str, str]]:
    """Inherent impls of a type outside the file that defines it, as file and type."""
    found = set()
    for file in sources.rglob("*.rs"):
        if of_tests(file, sources):
            continue
        code = COMMENT.sub("", TESTS.split(file.read_text())[0])
        defined = set(DEFINITION.findall(code))
        for header in IMPL.findall(code):
            while header != (header := ANGLES.sub("", header)):
                pass
            subject = re.split(r"\bwhere\b", header)[0].split()
            if "for" not in subject and subject and (name := subject[-1]) not in defined:
                found.add((str(file.relative_to(sources.parents[0].parent)), name.split("::")[-1]))
    return found


def test_methods_of_a_type_are_in_the_file_that_defines_it() -> None:
    found = {spread for sources in CRATES.glob("*/src") for spread in spread_types(sources)}
    assert found == set(SPREAD)


def built(*selected: str) -> dict[str, set[str]]:
    """The crates that cargo builds for a selection, build scripts included, with their features."""
    command = ["cargo", "tree", "--offline", "--locked", "--edges", "no-dev", "--prefix", "none"]
    done = subprocess.run(
        [*command, "--format", "{p}|{f}", *selected],
        cwd=CRATES, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.removesuffix(" (*)").partition("|") for line in done.stdout.splitlines() if line]
    return {crate.split()[0]: set(features.split(",")) for crate, _, features in lines}


PROGRAMS = ("--package", "tlslab-programs")


def test_the_programs_can_be_built_without_openssl() -> None:
    by_perl_and_make = {"openssl", "openssl-sys", "openssl-src"}
    assert by_perl_and_make < set(built(*PROGRAMS))
    without = set(built(*PROGRAMS, "--no-default-features"))
    assert without & by_perl_and_make == set()
    assert {"tlslab-load", "tlslab-serve", "rustls"} < without


def test_tests_and_packages_share_what_is_compiled() -> None:
    """A crate with other features is compiled again: OpenSSL alone takes minutes."""
    programs, workspace = built(*PROGRAMS), built("--workspace")
    assert programs == {name: workspace[name] for name in programs}
    without = built(*PROGRAMS, "--no-default-features")
    others = {name for name in without if not name.startswith("tlslab-")}
    assert {name: without[name] for name in others} == {name: programs[name] for name in others}
