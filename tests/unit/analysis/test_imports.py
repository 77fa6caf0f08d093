"""What the analysis of a run imports: scipy.stats takes longer to import than most runs to analyse."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

MADE = """\
from dataclasses import replace
from factories.run import made_run
from tlslab.analysis import summarise
from tlslab.experiment import load
run = load("groups", quick=True)
run = replace(run, blocks={blocks}, stopping=run.stopping if {ends} else None)
assert summarise(made_run(experiment=run)).comparisons
"""

SHARE = "from tlslab.analysis.stats.proportion import proportion_interval as p; p(1, 10)"


@pytest.mark.parametrize(
    ("code", "imported"),
    [
        (MADE.format(blocks=5, ends=False), False),
        (MADE.format(blocks=10, ends=False), False),
        (MADE.format(blocks=5, ends=True), False),
        # The import is seen where there is one.
        (SHARE, True),
    ],
    ids=["five blocks", "ten blocks", "until it is settled", "a proportion"],
)
def test_the_analysis_of_a_run_imports_no_scipy_stats(code: str, imported: bool) -> None:
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('scipy.stats' in sys.modules)"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(imported)
