"""From a run folder to its summary and report."""

from tlslab import analysis, report
from tlslab.advice import advised
from tlslab.experiment import loads
from tlslab.model.finding import Summary
from tlslab.model.run import RunContents
from tlslab.store import RunFolder


def read_contents(folder: RunFolder) -> RunContents:
    """All that a run folder holds before analysis."""
    return RunContents(
        experiment=loads(folder.experiment_text(), str(folder.path / "experiment.toml")),
        plan=folder.plan(),
        environment=folder.environment(),
        trials=folder.trials(),
    )


def analyse(folder: RunFolder) -> Summary:
    """What a run folder's content means, and what follows from it; nothing is written."""
    return advised(analysis.summarise(read_contents(folder)))


def summarise(folder: RunFolder) -> Summary:
    """Analyses a run folder and puts summary and report into it."""
    summary = analyse(folder)
    folder.write_summary(summary, report.render_html(summary))
    return summary
