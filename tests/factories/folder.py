"""A run folder with the content of a made-up run."""

from pathlib import Path

from tlslab.domain.run import RunContents
from tlslab.experiment import dumps
from tlslab.lab.store import RunFolder


def written(path: Path, contents: RunContents) -> Path:
    """Writes the run into a new folder; returns the folder's path."""
    text = dumps(contents.experiment)
    folder = RunFolder.create(path, text, contents.plan, contents.environment)
    for trial in contents.trials:
        folder.append(trial)
    return path
