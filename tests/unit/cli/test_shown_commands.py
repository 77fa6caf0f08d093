"""Commands that messages show: a folder's name may have blanks, and the command holds as it is."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from factories.folder import written
from factories.run import made_run
from tlslab.cli import dry
from tlslab.cli.options import Output
from tlslab.domain.command_line import ExportFormat
from tlslab.domain.errors import UsageError
from tlslab.experiment import load
from tlslab.lab.export import export
from tlslab.lab.opening import open_folder
from tlslab.lab.request import Request


@pytest.fixture(name="begun")
def _begun(tmp_path: Path) -> Path:
    """The folder of a run without a trial."""
    return written(tmp_path / "sp ace", replace(made_run(quick=True), trials=()))


def test_the_command_that_finishes_a_run_before_its_export(begun: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        export(begun, ExportFormat.csv, tmp_path / "out")
    assert caught.value.remedy == f"`tlslab run --resume '{begun}'` goes on with it"


def test_the_command_that_finishes_another_experiment(begun: Path) -> None:
    contents = made_run(quick=True)
    asked = Request(load("suites"), ("reference",), (), resume=begun)
    with pytest.raises(UsageError) as caught:
        open_folder(
            asked,
            asked.experiment,
            contents.environment.target,
            lambda seed: contents.plan,
            lambda plan: contents.environment,
        )
    assert f"`tlslab run --resume '{begun}'`" in caught.value.remedy


def test_the_command_that_shows_what_is_done() -> None:
    request = SimpleNamespace(resume=Path("sp ace"))
    with pytest.raises(UsageError) as caught:
        dry.show(request, Output())  # type: ignore[arg-type]
    remedy = caught.value.remedy
    assert "leave --dry-run out to go on" in remedy
    assert "sp ace/plan.json" in remedy
    assert "`tlslab report 'sp ace'` says what is done" in remedy
