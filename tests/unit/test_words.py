"""The check of banned words: finds misuse, accepts the field's own use, and takes paths."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def loaded() -> ModuleType:
    """The script, whose file name is not a module's name."""
    spec = importlib.util.spec_from_file_location("check_words", ROOT / "scripts/check-words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses looks the module up
    spec.loader.exec_module(module)
    return module


words = loaded()

RULES = words.rules((ROOT / "docs/glossary.md").read_text("utf-8"))

TABLE = """
## Banned words

| word | replacement | expression | right in |
|---|---|---|---|
| seam | JSON contract | `\\bseams?\\b` | |
| own client | minimal client | `\\bown[ -]clients?\\b\\|\\bthin client\\b` | |
"""


def found(text: str) -> list[tuple[int, str]]:
    return [(hit.line, hit.found) for hit in words.hits("a.md", text, RULES)]


@pytest.mark.parametrize(
    "text",
    [
        "the engine's own client",
        "record.own_client",
        "OwnClient",
        "a client of tlslab's own",
        "pub fn own(spec: RunSpec) -> RunSpec {",
        "let (own, state) = minimal(clients, script);",
        "the laws of a reader",
        "A law is what must be true",
        "def made(law: str)",
        "a_wrong_law_in_a_thousand_distances",
        "the books balance",
        "struct NodeBooks;",
        "made harmless",
        "the search was doomed",
        "Doomed(reason)",
        "law.serial",
        "serial and coherency",
        "the agreement of two captures",
        "contention and crosstalk",
        "[workload.steady]",
        "steady_requests_per_s",
        'runs["steady"]',
        "kind.ages",
        "connections at rest",
        "crosses the seam",
        "between the begin and the end",
        "its begin",
        "long begin = System.nanoTime();",
        "for begin in begins:",
        "def _watch(begin: float)",
        "map_or_else(now, |begin| begin.at)",
        "Ok(begin) => {",
        "it tells what was negotiated",
        "cannot be told from the best",
        "a document of so many bytes",
        "for the so-many-th time",
        "Why a run could not be.",
        "as was told at large",
        "never session reuse",
        "in a load experiment",
        'kind = "load"',
    ],
)
def test_a_banned_word_is_found(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "Little's law",
        "Little's laws",
        "the scalability law",
        "an exponential law",
        "key agreement",
        "aws_lc_rs::agreement",
        "use aws_lc_rs::{agreement, kem};",
        "a licence agreement",
        "the steady state of a warm-up",
        "the rate was steady",
        "[load.warm_up] steady = 3",
        "the certificate's serial number",
        ".serial_number(x509.random_serial_number())",
        "<arg>-Xlint:all,-processing,-serial</arg>",
        "ticket ages",
        "data at rest",
        "lines that begin with #",
        "threads begin and end",
        "sys::nghttp2_session_callbacks_set_on_begin_frame_callback(",
        "starter.begin(interrupt)",
        'BEGIN = "<!-- made by a script -->"',
        "cannot be told apart",
        "it stops when it is told to",
        "may not know so many suites that it stops",
        "$ssl_session_reused",
        "seamless",
        "a server and a client of its own",
        "key_exchange::own(group, KeyShare::Fresh)",
        "let (own, other) = (issued(), issued());",
        "its own ClientHello",
        "steady servers",
        "left out in so many words",
    ],
)
def test_the_fields_own_use_is_not(text: str) -> None:
    assert found(text) == []


def test_a_phrase_is_found_over_two_lines_with_the_line_of_its_start() -> None:
    assert found("/// The engine's own\n/// client makes it.") == [(1, "own client")]
    assert found('one = "its own "\ntwo = "client"') == []
    assert found('("its own "\n"client")') == [(1, "own client")]


def test_an_empty_line_ends_a_phrase() -> None:
    assert found("its own\n\nclient") == []


def test_what_stands_before_the_line_counts() -> None:
    assert found("by Little's\n/// law, and by the scalability\n/// law") == []


def test_a_path_is_text_too() -> None:
    hits = words.in_path("src/http/laws.rs", RULES)
    assert [str(hit) for hit in hits] == [
        "src/http/laws.rs:0: laws -> invariants; of arrivals: arrival process"
    ]


def test_a_bar_in_an_expression_is_written_with_a_backslash() -> None:
    rules = words.rules(TABLE)
    hits = words.hits("a.md", "seams\nthin client", rules)
    assert [str(hit) for hit in hits] == [
        "a.md:1: seams -> JSON contract",
        "a.md:2: thin client -> minimal client",
    ]


@pytest.mark.parametrize(
    "table",
    ["no table", TABLE + "| three | cells | only |\n", TABLE + "| word | other | `(` | |\n"],
)
def test_a_malformed_table_is_named(table: str) -> None:
    with pytest.raises(words.MalformedGlossaryError):
        words.rules(table)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the glossary above, a banned word in `docs` and one in `src`."""
    files = {
        "docs/glossary.md": TABLE,
        "docs/page.md": "One seam.\n",
        "src/part.py": "# The seam.\n",
        "src/untouched.py": "# Nothing.\n",
        "Cargo.lock": "seam\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "src/picture.png").write_bytes(b"\x89PNG seam \xff")
    for arguments in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    (tmp_path / "src/not-tracked.py").write_text("# The seam.\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "files"),
    [
        ([], ["docs/page.md", "src/part.py"]),
        (["docs"], ["docs/page.md"]),
        (["src/untouched.py"], []),
    ],
)
def test_tracked_text_is_checked_and_paths_limit_it(
    checkout: Path, paths: list[str], files: list[str]
) -> None:
    assert [hit.path for hit in words.check(checkout, paths)] == files


def test_the_exit_code_says_whether_there_was_a_hit(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(words, "ROOT", checkout)
    assert words.main(["docs"]) == 1
    assert capsys.readouterr().out == "docs/page.md:1: seam -> JSON contract\n"
    assert words.main(["src/untouched.py"]) == 0
    assert capsys.readouterr().out == ""
