"""The notebook of docs/ runs from its first cell to its last, and is stored with its outputs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tlslab.experiment.short import VARIABLE

pytestmark = pytest.mark.stage("documents")

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


@pytest.mark.timeout(400)
def test_the_notebook_runs(tmp_path: Path) -> None:
    copied = Path(shutil.copy(NOTEBOOK, tmp_path))
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "notebook.py"), str(copied)],
        cwd=tmp_path,
        env={
            **os.environ,
            VARIABLE: "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "IPYTHONDIR": str(tmp_path / "ipython"),
            "MPLCONFIGDIR": str(tmp_path / "matplotlib"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert [_kinds(cell) for cell in cells(copied)] == [_kinds(cell) for cell in cells(NOTEBOOK)]


def cells(notebook: Path) -> list[dict[str, Any]]:
    """The cells with code, in nbformat's schema."""
    found = json.loads(notebook.read_text("utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def _kinds(cell: dict[str, Any]) -> list[str]:
    return [output["output_type"] for output in cell["outputs"]]


def test_the_kept_notebook_has_a_result_below_each_cell() -> None:
    kept = cells(NOTEBOOK)
    assert len(kept) > 4
    assert all(cell["outputs"] for cell in kept)
    assert [cell["execution_count"] for cell in kept] == list(range(1, len(kept) + 1))
