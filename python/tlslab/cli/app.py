"""The application with all commands.

The module of a command imports at its top only what its options need, and the rest when it runs:
`tlslab --version`, help and completion import all of these modules, and need no numpy.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import typer

from tlslab.cli import (
    compare,
    completion,
    doctor,
    experiments,
    export,
    grade,
    history,
    load,
    plan,
    probe,
    prove,
    recommend,
    report,
    run,
    scale,
    selftest,
    targets,
    validate,
)
from tlslab.cli.console import out
from tlslab.cli.help import HELP_ALL, Command, questions
from tlslab.cli.options import FINE, version

_HELP = {"help_option_names": ["-h", "--help"]}

# In the order of the help.
_COMMANDS = (
    run, report, export, compare, recommend, prove, plan, history, probe, grade, scale, validate,
    selftest, targets, doctor, experiments, completion,
)  # fmt: skip

app = typer.Typer(
    help="A laboratory for TLS performance: what TLS settings cost the server and the client.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)


def _parsed(command: Callable[..., int]) -> Callable[..., int]:
    """A command as the parser calls it: with one parameter for each option, and --version.

    A parameter of the command whose type is a dataclass stands for the options that its fields are.
    """
    given: dict[str, inspect.Parameter] = {}
    groups: dict[str, type] = {}

    def add(name: str, kind: Any, default: Any) -> None:
        given[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
        )

    for name, parameter in inspect.signature(command).parameters.items():
        kind = get_type_hints(command)[name]
        if isinstance(kind, type) and is_dataclass(kind):
            groups[name] = kind
            for field in fields(kind):
                add(field.name, get_type_hints(kind)[field.name], field.metadata["option"])
        else:
            add(name, kind, parameter.default)
    add("_version", bool, version(FINE))
    add("_help_all", bool, HELP_ALL)

    def run_command(**values: Any) -> int:
        del values["_version"], values["_help_all"]
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        return command(**values)

    run_command.__doc__ = command.__doc__
    run_command.__annotations__ = {name: each.annotation for name, each in given.items()}
    run_command.__signature__ = inspect.Signature(list(given.values()))  # type: ignore[attr-defined]
    return run_command


for module in _COMMANDS:
    app.command(
        module.__name__.rpartition(".")[2],
        cls=Command,
        context_settings=_HELP,
        epilog=f"Example: {module.EXAMPLE}",
    )(_parsed(module.command))
# Its arguments are the engine's, including -h and -V.
app.command(
    "load",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    },
)(load.command)


@app.callback(invoke_without_command=True)
def root(context: typer.Context, _version: bool = version()) -> None:
    """Options of the program itself; without a command, the questions that it answers."""
    if context.invoked_subcommand is None:
        out.print(questions())
