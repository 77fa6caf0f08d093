"""From a run folder to its summary and report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tlslab import analysis, report, studies
from tlslab.advice import advised
from tlslab.advice.choice import (
    Field,
    Recommendation,
    compared_subject,
    decide,
    field_of,
    measures,
    rivals,
    terminator,
)
from tlslab.advice.emit import FORMS, REPORTED, Offer, offer_of
from tlslab.advice.policy import Policy, policies
from tlslab.advice.setting_grade import Subject
from tlslab.analysis.compare import Measured
from tlslab.analysis.ranking import rank
from tlslab.analysis.trade_offs import measured_cells, ratios, weigh
from tlslab.domain.errors import TlslabError, UsageError
from tlslab.domain.experiment import is_ranked
from tlslab.domain.figure import EMITTED, TextBlock
from tlslab.domain.finding import Summary
from tlslab.domain.recommendation import Aim, FileDescription, Price
from tlslab.domain.run import RunContents
from tlslab.domain.wording import capital
from tlslab.experiment import loads
from tlslab.lab.store import RunFolder
from tlslab.words import worded
from tlslab.words.recommendation import comments


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
    """The summary of a run, with its advice, its sentences, and configurations to paste."""
    recommended = recommendations(contents)
    summary = advised(analysis.explained(analysed(contents), contents), recommended)
    texts = () if summary.recommendation is None else _configurations(recommended)
    return worded(replace(summary, texts=(*summary.texts, *texts)))


def _configurations(recommended: Mapping[str, Recommendation]) -> Iterator[TextBlock]:
    """The files that `tlslab recommend --for SERVER` writes."""
    for name in REPORTED:
        if (found := recommended.get(name)) is None:
            continue
        _, file, text = configuration(found, name)
        if text:
            caption = (
                f"{capital(file.use)}; recommended by the measurements on {found.field.server}."
            )
            yield TextBlock(f"{EMITTED}{name}", f"Configuration: {file.title}", caption, text)


def configuration(found: Recommendation, server: str) -> tuple[Offer, FileDescription, str | None]:
    """A server's offer by a recommendation, what is said of its file, and the file.

    The file is None if the server has no setting for what the run compares.
    """
    form, offer = FORMS[server], offer_of(found.preference, found.field.policies, server)
    file = form.about(offer)
    return offer, file, form.text(offer, comments(found.choice, found.field.grounds, file))


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


def subject_of_run(contents: RunContents) -> Subject | None:
    """The subject of a recommendation; None if the run compares neither suites nor groups."""
    if not is_ranked(contents.experiment.kind):
        return None
    return compared_subject({each.name: each.levels for each in contents.experiment.factors})


def recommendations(
    contents: RunContents,
    aim: Aim = "throughput",
    by: tuple[Policy, ...] | None = None,
    servers: Iterable[str] | None = None,
) -> dict[str, Recommendation]:
    """The recommendation for each of these servers; those for which there is none are absent.

    By default for the servers that were measured and those of REPORTED, by all policies.
    """
    subject = subject_of_run(contents)
    if subject is None:
        return {}
    cells = measured_cells(contents)
    summaries = [cell.summary for cell in cells]
    target, http = contents.environment.target.name, contents.experiment.workload.http
    if servers is None:
        measured = (terminator(each.factors, target) for each in summaries)
        servers = dict.fromkeys((*measured, *REPORTED))
    found: dict[str, Recommendation] = {}
    # Servers share a setting's recommendation, which takes long to compute.
    known: dict[tuple[tuple[str, str], ...], Recommendation | None] = {}
    for server in servers:
        field = field_of(subject, summaries, contents.environment, by or policies(), server, http)
        setting = tuple(field.setting.items())
        if setting not in known:
            known[setting] = _decided(field, aim, cells)
        decided = known[setting]
        if decided is not None:
            found[server] = decided
    return found


def _decided(field: Field, aim: Aim, cells: Sequence[Measured]) -> Recommendation | None:
    found = decide(field, aim, weigh(cells, field.security, measures(aim, field)))
    return None if found is None else priced(found, cells)


def priced(found: Recommendation, cells: Sequence[Measured]) -> Recommendation:
    """The recommendation with the choice's ratios to its rivals, judged as one family."""
    measure, chosen = found.trade_offs.measure, found.order[0]
    by_key = {cell.summary.key: cell for cell in cells}
    mates = [by_key[entry.cell] for entry in found.field.entries]
    ranked = rank(mates, measure) if measure else ()
    first = found.field.entry(ranked[0].cell.summary.key) if ranked else None
    wanted = rivals(found, None if first is None or first.graded.passes else first.cell)
    compared = {
        (each.baseline, each.estimate): each
        for each in ratios(cells, [(chosen, cell, by) for _, cell, by in wanted])
    }
    prices = (
        Price(
            rival,
            cell,
            by,
            compared[cell, by],
            leads=first is not None and cell == first.cell and ranked[0].worst == 1,
            is_bound=by_key[cell].is_bound(by),
        )
        for rival, cell, by in wanted
        if (cell, by) in compared
    )
    return replace(found, prices=tuple(prices))
