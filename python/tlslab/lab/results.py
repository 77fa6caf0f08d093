"""From a run folder to its summary and report."""

from pathlib import Path

from tlslab import analysis, report
from tlslab.advice import advised
from tlslab.experiment import loads
from tlslab.model.errors import TlslabError, UsageError
from tlslab.model.finding import Summary
from tlslab.model.run import RunContents
from tlslab.store import RunFolder


def read_contents(folder: RunFolder) -> RunContents:
    """The content of a run folder before analysis."""
    return RunContents(
        experiment=loads(folder.experiment_text(), str(folder.path / "experiment.toml")),
        plan=folder.plan(),
        environment=folder.environment(),
        trials=folder.trials(),
        stacks=folder.stacks(),
    )


def newest_calibration(below: Path = Path("runs")) -> Path:
    """The newest run folder of a calibration. Raises UsageError if there is none."""
    found = []
    for path in sorted(below.glob("*/")):
        try:
            contents = read_contents(RunFolder.open(path))
        except TlslabError:
            continue  # No run folder, or a damaged one, which other commands report.
        if contents.experiment.design is not None:
            found.append((contents.environment.created, path))
    if not found:
        raise UsageError(
            f"no run folder of calibrate below {below}/",
            "name one, or make one: `tlslab run calibrate --target SERVER`",
        )
    return max(found)[1]


def analyse(folder: RunFolder) -> Summary:
    """The summary of a run folder, with its advice; nothing is written."""
    contents = read_contents(folder)
    return advised(analysis.explained(analysis.summarise(contents), contents))


def summarise(folder: RunFolder) -> Summary:
    """Analyses a run folder and puts summary and report into it."""
    summary = analyse(folder)
    folder.write_summary(summary, report.render_html(summary))
    return summary
