"""The application with all commands.

The module of a command imports at its top only what its options need, and the rest when it runs:
`tlslab --version`, help and completion import all of these modules, and need no numpy.
"""

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
from tlslab.cli.options import Version

_HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help="A laboratory for TLS performance: what TLS settings cost the server and the client.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)
app.command("run", context_settings=_HELP)(run.command)
app.command("report", context_settings=_HELP)(report.command)
app.command("export", context_settings=_HELP)(export.command)
app.command("compare", context_settings=_HELP)(compare.command)
app.command("recommend", context_settings=_HELP)(recommend.command)
app.command("prove", context_settings=_HELP)(prove.command)
app.command("plan", context_settings=_HELP)(plan.command)
app.command("history", context_settings=_HELP)(history.command)
app.command("probe", context_settings=_HELP)(probe.command)
app.command("grade", context_settings=_HELP)(grade.command)
app.command("scale", context_settings=_HELP)(scale.command)
app.command("validate", context_settings=_HELP)(validate.command)
app.command("selftest", context_settings=_HELP)(selftest.command)
app.command("targets", context_settings=_HELP)(targets.command)
app.command("doctor", context_settings=_HELP)(doctor.command)
app.command("experiments", context_settings=_HELP)(experiments.command)
app.command("completion", context_settings=_HELP)(completion.command)
# Its arguments are the engine's, including -h and -V.
app.command(
    "load",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    },
)(load.command)


@app.callback()
def root(_version: Version = False) -> None:
    """Options of the program itself."""
