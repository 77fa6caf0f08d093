"""The continuation of `tlslab run --resume DIR`: the experiment and the options of the folder."""

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.experiment import file_kind, loads
from tlslab.lab.store import RunFolder

# Options that determine the plan, which is in the folder.
_DECIDED = ("target", "set_", "quick", "blocks", "until", "budget", "seconds", "objective",
            "allow_obsolete", "expect_status", "out_dir")  # fmt: skip

# Options on this machine and its servers, which may have changed since.
_TAKEN_OVER = ("allow", "proof", "ca", "insecure", "jdk", "configure", "configure_timeout",
               "ready", "server_metrics", "why", "generators", "on_lost_host",
               "listen")  # fmt: skip


# The commands that start such runs; each has options of its own.
_BEGINS = ("run", "prove")


def folder_experiment(folder: RunFolder) -> Experiment:
    """The experiment as it was started."""
    return loads(folder.experiment_text(), str(folder.path / "experiment.toml"))


def refuse_commands(experiment: Experiment) -> None:
    """Refuses a file whose commands would run unseen on a live server. Raises UsageError."""
    if file_kind(experiment).commands(experiment):
        raise UsageError(
            "a file with the commands of a live proof is not run",
            "give them to `tlslab prove --url URL --apply COMMAND --revert COMMAND`; "
            "`tlslab run --resume DIR` goes on with an interrupted proof",
        )


def taken_over(context: typer.Context, path: Path) -> dict[str, Any]:
    """The options of the folder's own command, as far as this command line does not give them.

    Raises UsageError for options that would change the plan, StoreError for a damaged folder.
    """
    given = context.params
    for param in context.command.params:
        name = param.name or ""
        if name in _DECIDED and not _is_default(context, name):
            raise UsageError(
                f"{param.opts[0]} would change the plan that {path} holds",
                "a resumed run goes on as it was begun: leave the option out, or begin a new run",
            )
    earlier = options_of(context, RunFolder.open(path).environment().command)
    # An option of proofs alone.
    settle = {name: earlier[name] for name in ("settle",) if name in earlier}
    return settle | {
        name: earlier[name] if _is_default(context, name) and name in earlier else given[name]
        for name in ("target", *_TAKEN_OVER)
    }


def options_of(context: typer.Context, command: tuple[str, ...]) -> dict[str, Any]:
    """The options of an earlier `tlslab run ...` or `tlslab prove ...`, by parameters' names.

    Empty for any other command.
    """
    name = command[1] if command[1:2] and command[1] in _BEGINS else ""
    group = context.find_root().command
    begun = group.get_command(context, name) if name and isinstance(group, TyperGroup) else None
    if begun is None:
        return {}
    parsed = begun.make_context(name, list(command[2:]), resilient_parsing=True)
    return {name: _plain(value) for name, value in parsed.params.items()}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _is_default(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is None or source.name.startswith("DEFAULT")
