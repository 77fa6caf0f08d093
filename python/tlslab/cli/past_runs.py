"""The run folders for `tlslab history`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tlslab import analysis
from tlslab.analysis.history import Run
from tlslab.cli.console import say
from tlslab.domain.errors import StoreError, TlslabError
from tlslab.lab.experiment_run import read_contents
from tlslab.lab.store import RunFolder, run_folders, short_names


def usable_runs(paths: Sequence[Path]) -> list[Run]:
    """The usable runs of these folders, each once. Raises StoreError if there is none."""
    runs = list(_distinct(_read_all(paths)))
    if not runs:
        raise StoreError(
            "none of the runs can be used", "the warnings above give the reason for each run"
        )
    return runs


def _read_all(paths: Sequence[Path]) -> Iterator[Run]:
    """The readable runs; for each of the others, a line on standard error."""
    folders = run_folders(paths)
    for path, name in zip(folders, short_names(folders), strict=True):
        try:
            folder = RunFolder.open(path)
            contents = read_contents(folder)
            if not contents.trials:
                raise StoreError("; ".join(folder.damages()) or f"{path} holds no trial")
            run = Run(name, analysis.summarise(contents))
            run.began  # noqa: B018 (raises for a time that cannot be read)
        except TlslabError as error:
            say(f"warning: {name} is left out: {error.message}")
            continue
        for damage in folder.damages():
            say(f"warning: {damage}")
        yield run


def _distinct(runs: Iterator[Run]) -> Iterator[Run]:
    """Each run once: the first of a folder and its copies."""
    seen: dict[tuple[str, int, tuple[str, ...]], str] = {}
    for run in runs:
        what = run.summary
        key = (what.environment.created, what.experiment.seed, what.environment.command)
        if key in seen:
            say(f"warning: {run.name} is left out: it is the run of {seen[key]} once more")
            continue
        seen[key] = run.name
        yield run
