"""nginx's configuration files, read into directives and blocks.

The syntax is that of nginx's own reader (ngx_conf_read_token): words between blanks, in quotes or
not, up to a semicolon or a brace; a backslash escapes a character; `#` starts a comment where a
word could start.
"""

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from tlslab.servers.tls_part import ConfigurationSyntaxError, Directive, Loader

# A file with deeper includes must include itself.
DEPTH = 16

# The largest depth of blocks in one file: nginx itself knows six levels (http, server, location,
# and locations, `if` and `limit_except` in it).
LEVELS = 32

# The line with which `nginx -T` names each file before its content.
_HEAD = "# configuration file "

# The content of such blocks is a program in another language.
_PROGRAMS = ("_by_lua_block", "_by_njs_block")


@dataclass(frozen=True)
class _Token:
    text: str
    line: int
    quoted: bool = False

    def ends(self, mark: str) -> bool:
        """Whether the token is this mark, and not the same character in quotes."""
        return self.text == mark and not self.quoted


def read_directives(text: str, file: str, load: Loader) -> tuple[Directive, ...]:
    """The directives of a file, or of the output of `nginx -T`. Raises ConfigurationSyntaxError.

    Included files take the place of their `include`; if `load` does not find a file, or cannot read
    a file, an `include` stays a directive.
    """
    shown = dumped(text)
    if shown:
        file, text = next(iter(shown.items()))
    root = PurePosixPath(file).parent

    def find(pattern: str) -> Mapping[str, str | None]:
        # `nginx -T` shows each file by its whole path.
        inside = {name: text for name, text in shown.items() if _matches(name, root / pattern)}
        return inside or load(pattern)

    return tuple(_included(_parse(text, file), find, DEPTH))


def _matches(name: str, pattern: PurePosixPath) -> bool:
    """Whether a file has this path, or one that the pattern stands for."""
    return bool(pattern.name) and PurePosixPath(name).match(str(pattern))


def dumped(text: str) -> dict[str, str]:
    """The files of an output of `nginx -T`, by name; empty for any other text."""
    files: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        if line.startswith(_HEAD) and line.endswith(":"):
            lines = files.setdefault(line.removeprefix(_HEAD).removesuffix(":"), [])
        elif lines is not None:
            lines.append(line)
    return {name: "\n".join(content) for name, content in files.items()}


def _included(directives: tuple[Directive, ...], load: Loader, depth: int) -> Iterator[Directive]:
    for each in directives:
        if each.block is not None:
            block = tuple(_included(each.block, load, depth))
            yield Directive(each.name, each.args, each.file, each.line, block)
            continue
        files = load(each.args[0]) if each.name == "include" and len(each.args) == 1 else {}
        if files and depth == 0:
            raise ConfigurationSyntaxError(f"{each.file}:{each.line}: a file includes itself")
        if not files and not _is_complete(each):
            yield each
        for name, text in files.items():
            if text is None:
                yield replace(each, args=(name,))
            else:
                yield from _included(_parse(text, name), load, depth - 1)


def _is_complete(each: Directive) -> bool:
    """Whether an `include` may have no file: nginx accepts this of a pattern.

    A relative one may have its files below a folder of nginx's that is not known here.
    """
    pattern = each.args[0] if len(each.args) == 1 else ""
    return each.name == "include" and pattern.startswith("/") and glob.has_magic(pattern)


def _parse(text: str, file: str) -> tuple[Directive, ...]:
    tokens = list(_tokens(text, file))
    found, place = _block(tokens, 0, file, LEVELS)
    assert place == len(tokens)
    return found


def _block(
    tokens: list[_Token], place: int, file: str, levels: int
) -> tuple[tuple[Directive, ...], int]:
    """The directives up to the closing brace or the end of the file, and the place after them.

    `levels`: the number of further nested blocks allowed; the file itself has all of them.
    """
    inner = levels < LEVELS
    found: list[Directive] = []
    words: list[_Token] = []
    while place < len(tokens):
        token = tokens[place]
        place += 1
        if token.ends("}"):
            if not inner or words:
                raise ConfigurationSyntaxError(f'{file}:{token.line}: unexpected "}}"')
            return tuple(found), place
        if not (token.ends(";") or token.ends("{")):
            words.append(token)
            continue
        if not words:
            raise ConfigurationSyntaxError(f'{file}:{token.line}: unexpected "{token.text}"')
        block = None
        if token.ends("{"):
            if levels == 0:
                raise ConfigurationSyntaxError(
                    f"{file}:{token.line}: blocks are nested deeper than {LEVELS} levels"
                )
            block, place = _block(tokens, place, file, levels - 1)
        name, *args = (word.text for word in words)
        found.append(Directive(name, tuple(args), file, words[0].line, block))
        words = []
    if inner or words:
        raise ConfigurationSyntaxError(f"{file}: the file ends within a directive")
    return tuple(found), place


def _tokens(text: str, file: str) -> Iterator[_Token]:
    place, line, name = 0, 1, ""
    while place < len(text):
        char = text[place]
        if char.isspace():
            line += char == "\n"
            place += 1
        elif char == "#":
            place = _after(text, "\n", place) - 1
        elif char in ";{}":
            yield _Token(char, line)
            place += 1
            if char == "{" and name.endswith(_PROGRAMS):
                end = _program_end(text, place, f"{file}:{line}")
                line += text.count("\n", place, end)
                place = end
            name = ""
        else:
            word, end = _word(text, place, f"{file}:{line}")
            yield _Token(word, line, quoted=char in "\"'")
            name = name or word
            line += text.count("\n", place, end)
            place = end


def _after(text: str, mark: str, place: int) -> int:
    """The place after the next mark; one beyond the end of the text if there is none."""
    found = text.find(mark, place)
    return len(text) + 1 if found < 0 else found + 1


def _word(text: str, place: int, where: str) -> tuple[str, int]:
    """A word, and the place after it."""
    quote = text[place] if text[place] in "\"'" else ""
    place += len(quote)
    word = ""
    while place < len(text):
        char = text[place]
        if char == "\\" and place + 1 < len(text):
            word += text[place + 1] if text[place + 1] in "\"'\\ " else text[place : place + 2]
            place += 2
            continue
        if char == quote:
            return word, place + 1
        # `${name}` has braces that are no block.
        variable = char == "{" and word.endswith("$")
        if not quote and (char.isspace() or (char in ";{" and not variable)):
            return word, place
        word += char
        place += 1
    if quote:
        raise ConfigurationSyntaxError(f"{where}: a quote is not closed")
    return word, place


def _program_end(text: str, place: int, where: str) -> int:
    """The place of the brace that closes a block of another language."""
    depth = 1
    for end in range(place, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return end
    raise ConfigurationSyntaxError(f"{where}: a block is not closed")
