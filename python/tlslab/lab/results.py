"""From a run folder to its summary and report."""

from pathlib import Path

from tlslab import analysis, report, studies
from tlslab.advice import advised
from tlslab.advice.choice import Aim, Recommendation
from tlslab.advice.policy import Policy
from tlslab.domain.errors import TlslabError, UsageError
from tlslab.domain.finding import Summary
from tlslab.domain.run import RunContents
from tlslab.experiment import loads
from tlslab.lab.recommend_from_run import recommendations, subject_of_run
from tlslab.lab.store import RunFolder
from tlslab.words import worded


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


def analysed(contents: RunContents) -> Summary:
    """The summary of a run with what the studies add, without advice.

    Raises UsageError if the experiment names an unknown study.
    """
    return studies.joined(analysis.summarise(contents), contents)


def analyse(folder: RunFolder) -> Summary:
    """The summary of a run folder, with its advice; nothing is written."""
    return summary_of(read_contents(folder))


def summary_of(contents: RunContents) -> Summary:
    """The summary of a run, with its advice and its sentences."""
    summary = analysis.explained(analysed(contents), contents)
    return worded(advised(summary, recommendations(contents)))


def recommend(
    folder: RunFolder, aim: Aim, by: tuple[Policy, ...], server: str
) -> Recommendation | None:
    """The recommendation for a server; None if the run has nothing that may be recommended.

    Raises UsageError for a run that compares neither suites nor groups.
    """
    contents = read_contents(folder)
    if subject_of_run(contents) is None:
        raise UsageError(
            f"{folder.path}: the run compares neither suites nor groups",
            "take a run of groups or of suites: `tlslab run groups --target nginx`",
        )
    return recommendations(contents, aim, by, (server,)).get(server)


def summarise(folder: RunFolder) -> Summary:
    """Analyses a run folder and puts summary and report into it."""
    summary = analyse(folder)
    folder.write_summary(summary, report.render_html(summary))
    return summary
