"""Executes docs/notebook.ipynb: `notebook.py FILE` reads FILE and writes it back with its outputs.

Runs in the working directory, into which the notebook's own run goes.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

# The time limit of a cell, which makes a quick run.
TIMEOUT_S = 300


def execute(path: Path) -> None:
    """Executes a notebook and writes it back. Raises CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=TIMEOUT_S, kernel_name="python3").execute()
    for cell in notebook.cells:
        # The time of a cell's execution is not a result.
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    execute(Path(sys.argv[1]))
