"""nginx's configuration files: read like nginx reads them, and never beyond their end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.servers.nginx_file import dumped, read_directives
from tlslab.servers.tls_part import ConfigurationSyntaxError


def read(text: str, **files: str) -> list[tuple[str, tuple[str, ...]]]:
    found = read_directives(text, "f", lambda name: {name: files[name]} if name in files else {})
    return [(each.name, each.args) for each in found]


def test_words_are_parted_by_blanks_and_kept_together_by_quotes() -> None:
    text = """# a comment; with a semicolon
    a  b "c d" 'e;f' ; g h\\ i "j\\"k";
    x ${y}z {}  # } another
    """
    assert read(text) == [
        ("a", ("b", "c d", "e;f")),
        ("g", ("h i", 'j"k')),
        ("x", ("${y}z",)),
    ]


def test_blocks_are_nested() -> None:
    (http,) = read_directives('http { server { location "~ {2}" { a b; } } }', "f", lambda _: {})
    assert http.block is not None
    (server,) = http.block
    assert server.block is not None
    assert [(each.name, each.args) for each in server.block] == [("location", ("~ {2}",))]


def test_lines_are_those_of_the_file() -> None:
    found = read_directives('a 1;\n\n"b\nc" 2;\nd 3;', "f", lambda _: {})
    assert [each.line for each in found] == [1, 3, 5]


def test_a_program_in_another_language_is_passed_over() -> None:
    text = 'content_by_lua_block { local a = {} -- "\n return a }\nb c;'
    assert read(text) == [("content_by_lua_block", ()), ("b", ("c",))]


@pytest.mark.parametrize(
    "text", ["a b", "a {", "}", ";", 'a "b;', "a { b }", "{ }", "x_by_lua_block { {"]
)
def test_text_that_nginx_refuses_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationSyntaxError, match="f"):
        read(text)


def test_included_files_take_the_place_of_their_include() -> None:
    assert read("a 1; include x; b 2;", x="c 3; include y;") == [
        ("a", ("1",)),
        ("c", ("3",)),
        ("include", ("y",)),
        ("b", ("2",)),
    ]


def test_a_file_that_includes_itself_is_refused() -> None:
    with pytest.raises(ConfigurationSyntaxError, match="includes itself"):
        read("include x;", x="include x;")


def test_a_dump_of_nginx_is_split_into_its_files() -> None:
    shown = (
        "nginx: the configuration file is ok\n"
        "# configuration file /etc/nginx/nginx.conf:\nhttp { include /etc/nginx/tls.conf; }\n"
        "# configuration file /etc/nginx/tls.conf:\nssl_protocols TLSv1.3;\n"
    )
    assert list(dumped(shown)) == ["/etc/nginx/nginx.conf", "/etc/nginx/tls.conf"]
    (http,) = read_directives(shown, "f", lambda _: {})
    assert http.block is not None
    assert [each.args for each in http.block] == [("TLSv1.3",)]


@pytest.mark.parametrize("pattern", ["tls.conf", "*.conf", "/etc/nginx/t*", "/etc/*/tls.conf"])
def test_a_pattern_names_files_of_the_dump(pattern: str) -> None:
    shown = (
        f"# configuration file /etc/nginx/main:\ninclude {pattern};\n"
        "# configuration file /etc/nginx/tls.conf:\nssl_protocols TLSv1.3;\n"
        "# configuration file /etc/nginx/other/tls.conf:\nssl_protocols TLSv1.2;\n"
    )
    found = read_directives(shown, "f", lambda _: {})
    assert [each.args for each in found] == [("TLSv1.3",)]


@given(st.text(alphabet=" \n;{}#\"'\\$ab", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read(text)
    except ConfigurationSyntaxError:
        return
    assert all(isinstance(name, str) for name, _ in found)


@given(st.lists(st.text(alphabet="ab;{}#' \\\"", min_size=1, max_size=8), min_size=1, max_size=5))
def test_words_in_quotes_come_back_as_they_were(words: list[str]) -> None:
    quoted = " ".join('"' + w.replace("\\", "\\\\").replace('"', '\\"') + '"' for w in words)
    assert read(f"name {quoted};") == [("name", tuple(words))]


@pytest.mark.parametrize("close", ["", "}"])
def test_blocks_without_end_are_refused_in_one_line(close: str) -> None:
    with pytest.raises(
        ConfigurationSyntaxError, match="f:1: blocks are nested deeper than 32 levels"
    ):
        read("a{" * 3000 + close * 3000)


def test_deep_blocks_in_included_files_are_read_or_refused() -> None:
    """Each file nests blocks to the limit, and includes itself in the innermost one."""
    deep = "a{" * 32 + "include x;" + "}" * 32
    with pytest.raises(ConfigurationSyntaxError, match="includes itself"):
        read(deep, x=deep)
