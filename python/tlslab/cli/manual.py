"""Manual pages, from the same sources as `--help`: `python -m tlslab.cli.manual FOLDER`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tlslab import __version__
from tlslab.cli.app import app
from tlslab.domain.errors import UsageError

EXIT_CODES = (
    ("0", "done, and valid"),
    ("1", "done, but a verdict failed; the last line says which"),
    ("2", "wrong usage"),
    ("3", "it could not be done; the error says why, and what to do about it"),
    ("4", "cannot tell: what was measured does not carry the answer"),
    ("130", "interrupted: what was finished is kept"),
)


def pages() -> dict[str, str]:
    """The pages by file name: `tlslab.1`, and one for each command."""
    root: Any = typer.main.get_command(app)
    found = {"tlslab.1": _page(root, "tlslab", tuple(root.commands))}
    for name, command in root.commands.items():
        found[f"tlslab-{name}.1"] = _page(command, f"tlslab {name}")
    return found


def _page(command: Any, title: str, commands: tuple[str, ...] = ()) -> str:
    lines = [*_head(command, title), *_options(command, title)]
    if commands:
        lines.append(".SH COMMANDS")
        for name in commands:
            lines += [
                ".TP",
                rf"\fBtlslab\-{_escaped(name)}\fR(1)",
                _summary(command.commands[name]),
            ]
    lines.append(".SH EXIT STATUS")
    for code, words in EXIT_CODES:
        lines += [".TP", rf"\fB{code}\fR", _escaped(words)]
    if not commands:
        lines += [".SH SEE ALSO", r"\fBtlslab\fR(1)"]
    return "\n".join(lines) + "\n"


def _head(command: Any, title: str) -> Iterator[str]:
    name = title.replace(" ", "-")
    yield f'.TH "{name.upper()}" 1 "" "tlslab {__version__}" "tlslab"'
    yield ".SH NAME"
    yield rf"{_escaped(name)} \- {_summary(command)}"
    yield ".SH SYNOPSIS"
    context = _context(command, title)
    pieces = " ".join(command.collect_usage_pieces(context))
    yield rf"\fB{_escaped(title)}\fR {_escaped(pieces)}"
    yield ".SH DESCRIPTION"
    for number, part in enumerate((command.help or "").split("\n\n")):
        yield from [".PP"] if number else []
        yield _escaped(" ".join(part.split()))


def _options(command: Any, title: str) -> Iterator[str]:
    yield ".SH OPTIONS"
    context = _context(command, title)
    for param in command.get_params(context):
        names, words = param.get_help_record(context)
        names = names.removesuffix(" <str>") if param.param_type_name == "argument" else names
        yield ".TP"
        yield rf"\fB{_escaped(names)}\fR"
        yield _escaped(" ".join(words.split()))


def _context(command: Any, title: str) -> Any:
    return command.make_context(title, [], resilient_parsing=True)


def _summary(command: Any) -> str:
    """The first sentence of a help text."""
    text = " ".join((command.help or "").split("\n\n")[0].split())
    return _escaped(text.rstrip("."))


def _escaped(text: str) -> str:
    """Text for roff, in which no backslash, dash or leading dot acts as a command."""
    clean = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{clean}" if clean.startswith((".", "'")) else clean


def write(folder: Path) -> None:
    """Writes the pages into a folder, which is created. Raises UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages().items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from None


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "target/man"))
