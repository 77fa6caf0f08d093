"""Fits the kept calibration again from its trials: the error in docs/studies.md is that of the
model.

test_studies_document.py compares docs/studies.md with the kept page; this file compares the page
with the trials.
"""

import lzma
import re
import shutil
from pathlib import Path

import pytest

from kept.figures import REPORTS, ROOT, table
from tlslab.analysis.costs.findings import GOOD_ERROR
from tlslab.analysis.costs.processors_needed import Bounds, size
from tlslab.analysis.costs.summary import Calibration, calibration
from tlslab.domain.estimate import Estimate
from tlslab.domain.wording import difference
from tlslab.lab.results import read_contents
from tlslab.lab.store import RunFolder

KEPT = REPORTS / "calibrate"
FILES = ("environment.json", "experiment.toml", "plan.json")

CELL = re.compile(r"(?P<value>[\d.,]+) \((?P<low>[\d.,]+)-(?P<high>[\d.,]+)\)")

# The page's figures have three digits.
ROUNDED = 0.006


@pytest.fixture(scope="module", name="found")
def _found(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    folder = tmp_path_factory.mktemp("calibrate")
    for name in FILES:
        shutil.copy(KEPT / name, folder / name)
    trials = lzma.decompress((KEPT / "trials.jsonl.xz").read_bytes())
    Path(folder / "trials.jsonl").write_bytes(trials)
    return calibration(read_contents(RunFolder.open(folder)))


def shown(cell: str) -> list[float]:
    """The value and the ends of a cell of the page."""
    found = CELL.match(cell)
    assert found, cell
    return [float(found[name].replace(",", "")) for name in ("value", "low", "high")]


def of(estimate: Estimate) -> list[float | None]:
    return [estimate.value, estimate.low, estimate.high]


def test_each_mix_that_was_held_out_is_off_by_what_the_page_says(found: Calibration) -> None:
    rows = table(REPORTS, "calibrate", "table-held-out")["rows"]
    assert len(rows) == len(found.checks) == 5
    for row, check in zip(rows, found.checks, strict=True):
        for cell, estimate in zip(
            row[1:], (check.predicted, check.measured, check.ratio), strict=True
        ):
            assert of(estimate) == pytest.approx(shown(cell), rel=ROUNDED)


def test_the_documents_sentence_follows_from_the_trials(found: Calibration) -> None:
    text = (ROOT / "docs" / "studies.md").read_text("utf-8")
    said = re.search(
        r"On these five mixes the model is off by (\d+) % at most, and each interval excludes more "
        r"than (\d+) % on its mix\.",
        text,
    )
    assert said is not None
    error = max(check.error for check in found.checks)
    bound = max(check.bound for check in found.checks)
    assert round(100 * error) == int(said[1])
    assert difference(bound) == f"{said[2]} %"
    assert bound <= GOOD_ERROR


def test_a_plan_is_widened_by_the_error_that_is_not_excluded(found: Calibration) -> None:
    model = found.model
    assert model is not None
    mix = {**model.centre, "resumed": "60%", "requests": "8", "document_bytes": "4096"}
    planned = size(model, found.checks, mix, Bounds(0.8, None), rate=5000.0)
    alone, bound = model.cost(mix), planned.error_bound
    assert bound is not None
    assert planned.error is not None
    assert bound > planned.error
    assert alone.low is not None
    assert alone.high is not None
    assert planned.cost.low == pytest.approx(alone.low / (1 + bound))
    assert planned.cost.high == pytest.approx(alone.high * (1 + bound))
