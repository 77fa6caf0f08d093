"""The verdict of a cell of a capacity experiment, with its reasons. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tlslab.analysis import steadiness
from tlslab.analysis.measures import Processors, client_busy, server_busy
from tlslab.analysis.validity import SATURATED, SERVER_LOADED, is_bound, run_warnings, starved
from tlslab.domain.finding import CellVerdict, Note
from tlslab.domain.run_faults import run_faults
from tlslab.domain.search import Inconclusive, Next, SearchState
from tlslab.domain.trial import Trial
from tlslab.domain.wording import counted, percent


def judge(
    trials: Sequence[Trial],
    maxima: Sequence[Trial],
    counted_in: Sequence[Trial],
    search: SearchState,
    processors: Processors,
    shared: bool,
) -> tuple[CellVerdict, tuple[Note, ...]]:
    """The verdict on a cell's maximum, with its reasons.

    `maxima`: the trials at the maximum; `counted_in`: those of them without a fault. `shared`:
    server and generator share a processor.
    """
    # A trial that was done shows that the server supports the cell: a refusal is a failure then.
    is_supported = any(trial.status == "done" for trial in trials)
    refusals = [trial.reason for trial in trials if trial.status == "unsupported" and trial.reason]
    if refusals and not is_supported:
        return "unsupported", (Note("unsupported", refusals[0].message),)
    notes = list(_failures(trials))
    if not trials:
        return "failed", (Note("not_run", "none of its steps was run"),)
    if isinstance(search, Inconclusive):
        notes.append(
            Note(f"search_{search.reason}", f"the search was inconclusive: {search.message}")
        )
    if not counted_in:
        notes += [note for trial in maxima for note in _faults(trial)][:1]
        interrupted = isinstance(search, Next) and not any(t.status != "done" for t in trials)
        if interrupted:
            notes.append(Note("incomplete", "the search had not ended when the run did"))
        return ("invalid" if maxima else "failed"), tuple(notes)
    bad = [note for trial in maxima for note in _faults(trial)]
    notes += [Note(note.code, f"{counted(len(bad), 'trial')}: {note.message}") for note in bad[:1]]
    if 2 * len(counted_in) < len(maxima):
        return "invalid", tuple(notes)
    busy = max(client_busy(trial.runs["maximum"]) for trial in counted_in)
    if shared:
        notes.append(
            Note(
                "shared_processor",
                "server and generator share a processor: the server had less than its "
                "processors, and the maximum is a lower bound",
            )
        )
    if busy >= SATURATED:
        notes.append(Note("client_saturated", f"the generator was {percent(min(1.0, busy))} busy"))
    runs = [trial.runs["maximum"] for trial in counted_in]
    faults = [list(starved(run, processors)) for run in runs]
    notes += next((found for found in faults if found), [])
    if 2 * sum(bool(found) for found in faults) > len(runs):
        return "invalid", tuple(notes)
    inconclusive = isinstance(search, Inconclusive) and search.reason in (
        "generator_bound",
        "still_rising",
    )
    bound = inconclusive or shared or any(is_bound(run, processors) for run in runs)
    return ("at_least" if bound else "valid"), tuple(notes)


def limit_words(counted_in: Sequence[Trial], processors: Processors) -> str:
    """The side that limited the rate of the maximum, as a clause on the generators (`they`)."""
    runs = [trial.runs["maximum"] for trial in counted_in]
    client = max((client_busy(run) for run in runs), default=0.0)
    found = (server_busy(run, processors) for run in runs)
    server = min((busy for busy in found if busy is not None), default=None)
    if client >= SATURATED and server is not None and server >= SERVER_LOADED:
        return "they and the server were busy: the server may take more"
    if client >= SATURATED:
        return "they were the limit: the server takes more"
    if server is None:
        return f"they were {percent(client)} busy: the server, or the way to it, was the limit"
    if server >= SERVER_LOADED:
        return f"the server was the limit, {percent(server)} busy or more"
    return (
        f"neither they ({percent(client)} busy) nor the server ({percent(server)}) was the limit: "
        "the cause lies elsewhere"
    )


def disturbances(
    counted_in: Sequence[Trial], processors: Processors, labels: Sequence[steadiness.Labels]
) -> Iterable[Note]:
    """Other disturbances of the trials of the maximum, one note of each kind.

    `labels` are those of the trials.
    """
    found: dict[str, Note] = {}
    for trial in counted_in:
        for note in run_warnings(trial.runs["maximum"], processors):
            if note.code != "client_saturated":
                found.setdefault(note.code, note)
    return (*found.values(), *steadiness.notes(labels))


def _faults(trial: Trial) -> Iterable[Note]:
    run = trial.runs.get("maximum")
    return () if run is None else run_faults("maximum", run.record)


def _failures(trials: Sequence[Trial]) -> Iterable[Note]:
    """One note for each class of failure."""
    own = [trial for trial in trials if trial.factors.get("stage") != "validation"]
    reasons = [trial.reason for trial in own if trial.status != "done" and trial.reason]
    counts = Counter(reason.class_ for reason in reasons)
    for name, count in counts.items():
        message = next(reason.message for reason in reasons if reason.class_ == name)
        yield Note(f"trial_{name}", f"{count} of {counted(len(trials), 'step')} failed: {message}")
