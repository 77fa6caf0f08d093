"""The TLS part of a server's configuration file: what a proof takes from a user's file.

`Syntax` has a row for each server whose files are read: its reader makes directives of a text, its
`Rows` say which of them are taken. Only settings of TLS are taken, each by name and with values
that only TLS settings have. Other content of the file is never executed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tlslab.domain.configuration import Configuration

# The files that the pattern of an `include` names, with their content; None for a file, or for the
# pattern itself, that cannot be read.
Loader = Callable[[str], Mapping[str, str | None]]

# The characters in values of TLS settings, none of which ends a word or a directive.
_VALUE = re.compile(r"[A-Za-z0-9_.:+!@=,/-]+")

# No path may contain characters that end a line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

# What a server's words quote.
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'")

# Commands of OpenSSL's configuration that set TLS up and read no file.
COMMANDS = frozenset(
    {
        "CipherString",
        "Ciphersuites",
        "ClientSignatureAlgorithms",
        "Curves",
        "Groups",
        "MaxProtocol",
        "MinProtocol",
        "NumTickets",
        "Options",
        "SignatureAlgorithms",
    }
)


class ConfigurationSyntaxError(Exception):
    """The text is no configuration of the server; the message names file and line."""


class ChoiceError(Exception):
    """The file has no server to take, or several; the message says which, `remedy` what to do."""

    def __init__(self, message: str, remedy: str = "name one by --server-name") -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True)
class Directive:
    """A directive; `block` is None for one without a block."""

    name: str
    args: tuple[str, ...]
    file: str
    line: int
    block: "tuple[Directive, ...] | None" = None


@dataclass(frozen=True)
class TlsPart:
    """The TLS part of one server.

    `settings`: directives with their values. `pairs`: each certificate's file with the files that
    may have its private key. `names`: the server's. `http2`: None if the server's default applies.
    `ignored`: the directives that were left out, each with the place; `unread`: what was not
    understood, and may set up TLS as well.
    """

    names: tuple[str, ...]
    settings: tuple[Directive, ...]
    pairs: tuple[tuple[str, tuple[str, ...]], ...]
    http2: bool | None
    ignored: tuple[str, ...]
    unread: tuple[str, ...] = ()

    @property
    def content(self) -> object:
        """What must be equal for two servers to count as one in a proof."""
        return [(each.name, each.args) for each in self.settings], self.pairs, self.http2


@dataclass(frozen=True)
class Rows:
    """The directives of a server's files that are taken.

    `single`: the last one of a level applies. `repeated`: all of a level apply together. `files`:
    the value is a file's path. `first`: the first values of a directive that are taken. `values`:
    the form of a directive's values. `read`: read, but no part of TLS. `prefixes`: how names of TLS
    directives start. `key`: the setting of a directive; a server's own setting replaces all around
    it with the same key. `never_in_paths`: a character that the server would replace. `includes`:
    the directives that include files.
    """

    single: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    first: Mapping[str, frozenset[str]] = field(default_factory=dict)
    values: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    read: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    key: Callable[[Directive], object] = lambda each: each.name
    never_in_paths: str = "\n"
    includes: tuple[str, ...] = ()

    def takes(self, each: Directive) -> bool:
        """Whether a directive is a setting of TLS in a form that can be taken."""
        if each.name not in (*self.single, *self.repeated) or each.block is not None:
            return False
        if not each.args or each.args[0] not in self.first.get(each.name, each.args):
            return False
        if each.name in self.files:
            path = each.args[0]
            fits = not _CONTROL.search(path) and self.never_in_paths not in path
            return fits and len(each.args) == 1
        form = self.values.get(each.name, _VALUE)
        return all(form.fullmatch(value) for value in each.args)

    def merged(
        self, outer: Sequence[Directive], inner: Sequence[Directive]
    ) -> tuple[tuple[Directive, ...], tuple[str, ...]]:
        """The settings of a server with those around it, and the directives left out."""
        taken: dict[object, list[Directive]] = {}
        ignored: list[str] = []
        for level in (outer, inner):
            own: dict[object, list[Directive]] = {}
            for each in level:
                if not self.takes(each):
                    # A server's surroundings are its whole set-up: naming them would bury the rest.
                    named = level is inner or each.name.startswith(self.prefixes)
                    if named and each.name not in (*self.read, *self.includes):
                        ignored.append(self._place(each))
                    continue
                earlier = own.get(self.key(each), []) if each.name in self.repeated else []
                own[self.key(each)] = [*earlier, each]
            taken |= own
        settings = tuple(each for found in taken.values() for each in found)
        return settings, tuple(dict.fromkeys(ignored))

    def unread(self, *levels: Sequence[Directive]) -> tuple[str, ...]:
        """What was not understood, and may set up TLS: files that were not read, settings in
        another form, blocks under a condition.
        """
        left = (each for level in levels for each in level if self._may_set(each))
        return tuple(dict.fromkeys(map(self._place, left)))

    def _may_set(self, each: Directive) -> bool:
        if each.name in self.includes:
            return True
        if each.block is not None:
            return each.name.startswith(self.prefixes) and self._has_setting(each.block)
        if (
            each.name in self.first
            and (each.args[0] if each.args else "") not in self.first[each.name]
        ):
            return False
        return each.name in (*self.single, *self.repeated) and not self.takes(each)

    def knows_any(self, directives: Sequence[Directive]) -> bool:
        """Whether any directive, at any depth, is one that is read."""
        names = (*self.single, *self.repeated, *self.read, *self.includes)
        return any(
            each.name in names or (each.block is not None and self.knows_any(each.block))
            for each in directives
        )

    def _has_setting(self, block: Sequence[Directive]) -> bool:
        names = (*self.single, *self.repeated)
        return any(
            each.name in names or (each.block is not None and self._has_setting(each.block))
            for each in block
        )

    def _place(self, each: Directive) -> str:
        by_value = each.name in self.first or each.name in self.includes
        words = (each.name, *(each.args[:1] if by_value else ()))
        return f"{' '.join(words)} (line {each.line})"


@dataclass(frozen=True)
class Syntax:
    """How the files of a server are read, and its settings written.

    - `read` makes directives of a text, the name of its file, and the loader of included files.
      Raises ConfigurationSyntaxError.
    - `parts` finds the TLS part of each server with TLS; of the whole text, if it has no server.
    - `text`: the lines of a file of the server with these settings, and with HTTP/2 or without.
    - `rows`: the settings that are taken. `setting`: which setting a line's words set: a candidate
      without a whole server replaces the baseline's lines that set the same.
    - `end`: how a directive ends. `has_tls`: what makes a server one with TLS.
    - `checks`: the command that checks a file; `shown`: what else may be given.
    """

    server: str
    read: Callable[[str, str, Loader], tuple[Directive, ...]]
    parts: Callable[[Sequence[Directive]], list[TlsPart]]
    text: Callable[[Sequence[str], bool], Iterable[str]]
    rows: Rows
    setting: Callable[[Sequence[str]], tuple[str, ...]]
    has_tls: str
    checks: str
    shown: str
    end: str = ""

    def part(self, directives: Sequence[Directive], server_name: str | None = None) -> TlsPart:
        """The TLS part of the server with this name, or of the only one with TLS.

        Raises ChoiceError.
        """
        parts = self.parts(directives)
        if not parts:
            without = f"no server in it has TLS (`{self.has_tls}`)"
            raise ChoiceError(without, f"give the file of one that has, or {self.shown}")
        if server_name is not None and (len(parts) > 1 or parts[0].names):
            parts = [part for part in parts if server_name in part.names]
            if not parts:
                raise ChoiceError(f"no server with TLS has the name {server_name}")
        if any(part.content != parts[0].content for part in parts):
            names = ", ".join(dict.fromkeys(name for part in parts for name in part.names[:1]))
            raise ChoiceError(f"it has {len(parts)} servers with different TLS: {names}")
        return parts[0]

    def written(self, name: str, args: Sequence[str]) -> str:
        """A directive that the server reads back unchanged: any path stays one word."""
        words = (each if _VALUE.fullmatch(each) else quoted(each) for each in args)
        return " ".join((name, *words)) + self.end

    def with_text(self, found: Configuration) -> Configuration:
        """The configuration with its text as a file of the server has it."""
        return replace(found, text=tuple(self.text(found.lines, found.http2)))

    def words(self, line: str) -> list[str]:
        """The words of a line as `written` makes it, up to the first one in quotes."""
        return line.removesuffix(self.end).split()

    def is_setting(self, line: str) -> bool:
        """Whether a line is one setting that a proof takes, exactly in the form of `written`."""
        return [self.written(each.name, each.args) for each in self._settings(line, "")] == [line]

    def at_fault(self, found: Configuration, words: str) -> str:
        """The place and the directive that a server's words are about:
        `my.conf:3: ssl_protocols TLSv1.9`.

        The name of the file alone if no directive has what the words quote.
        """
        said = {each for pair in _QUOTED.findall(words) for each in pair if each}
        lines = [each for each in found.lines if said & set(self.words(each))]
        lines += [each for each in found.lines if any(value in each for value in said)]
        if not lines:
            return found.source
        place = self._place_in(found.source, lines[0])
        return f"{place}: {lines[0].removesuffix(self.end)}"

    def _place_in(self, file: str, line: str) -> str:
        """The file and the line of a setting; the file alone if the setting is elsewhere."""
        try:
            settings = self._settings(Path(file).read_text("utf-8"), file)
        except (OSError, UnicodeDecodeError):
            return file
        for each in settings:
            if self.written(each.name, each.args) == line:
                return f"{each.file}:{each.line}"
        return file

    def _settings(self, text: str, file: str) -> Iterable[Directive]:
        """The settings of all servers of a text; none if it cannot be read."""
        try:
            parts = self.parts(self.read(text, file, lambda pattern: {}))
        except ConfigurationSyntaxError:
            return []
        return [each for part in parts for each in part.settings]


def quoted(word: str) -> str:
    """A word in quotes, whatever it has, as all three servers read it."""
    inside = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'
