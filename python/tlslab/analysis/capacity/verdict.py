"""The verdict on a cell's maximum: how far it is the server's highest rate. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tlslab.analysis import steadiness
from tlslab.analysis.measures import Processors, client_busy, server_busy
from tlslab.analysis.validity import (
    SATURATED,
    SERVER_LOADED,
    is_bound,
    run_warnings,
    starved,
)
from tlslab.domain.capacity import WarmUpRules
from tlslab.domain.finding import CellVerdict, Note
from tlslab.domain.open_maxima import COLD, NOISE, OPEN, UNSTEADY
from tlslab.domain.run_faults import run_faults, usable
from tlslab.domain.search import Inconclusive, Next, SearchState
from tlslab.domain.trial import Trial
from tlslab.domain.warm_up import all_warm

# What leaves a maximum open: by a note of the cell; by a warning on most trials of the maximum,
# which other experiments use for rates (validity.unsaturated).
_NOTED, _WARNED = ([c for c, r in OPEN.items() if r.by == by] for by in ("note", "warnings"))

# The side that limited the rate. `server_or_way`: the processor time of the server is not known.
Side = Literal["both", "generator", "server", "server_or_way", "neither"]


@dataclass(frozen=True)
class Limit:
    """The side that limited the rate of the maximum, and how busy both sides were.

    `generator`: the largest share of its processors' time in a trial; `server`: the least.
    """

    side: Side
    generator: float
    server: float | None


@dataclass(frozen=True)
class MaximumVerdict:
    """The verdict with its reasons; `usable`: the trials of the maximum without a fault.

    `open`: the codes of all reasons that the server's highest rate is not known; empty if it is.
    A single trial that was disturbed or not steady is no reason; most of the trials must be.
    """

    verdict: CellVerdict
    reasons: tuple[Note, ...]
    usable: tuple[Trial, ...]
    limit: Limit
    open: tuple[str, ...]


def is_of_server(open_: Collection[str], busy: float | None) -> bool:
    """Whether a maximum that is open for these reasons is still the server's limit.

    Noise may hide the best number of connections. If the server was busy all the time (`busy`: its
    processor use), the rate is nevertheless that of its processors, at the number of connections
    that the search chose.
    """
    return not open_ or (set(open_) == {NOISE} and busy is not None and busy >= SERVER_LOADED)


def judge(
    trials: Sequence[Trial],
    search: SearchState,
    processors: Processors,
    shared: bool,
    warm_up: WarmUpRules | None,
) -> MaximumVerdict:
    """The verdict on the maximum by all trials of a cell.

    `shared`: server and generator share a processor.
    """
    maxima = [trial for trial in trials if trial.factors.get("stage") == "maximum"]
    counted_in = tuple(trial for trial in maxima if usable(trial, "maximum"))
    labels = [steadiness.labels({"maximum": t.runs["maximum"]}) for t in counted_in]
    verdict, notes = _verdict(trials, maxima, counted_in, search, processors, shared)
    warned = [list(run_warnings(t.runs["maximum"], processors)) for t in counted_in]
    others: dict[str, Note] = {}
    for note in (note for noted in warned for note in noted if note.code != "client_saturated"):
        others.setdefault(note.code, note)
    notes += [*others.values(), *steadiness.notes(labels)]
    open_ = [note.code for note in notes if note.code in _NOTED]
    open_ += [c for c in _WARNED if _most([c in {note.code for note in each} for each in warned])]
    open_ += [UNSTEADY] if _most([steadiness.unsteady(each) for each in labels]) else []
    open_ += [COLD] if warm_up and not all_warm(trials, counted_in, warm_up) else []
    limit = _limit(counted_in, processors)
    return MaximumVerdict(verdict, tuple(notes), counted_in, limit, tuple(dict.fromkeys(open_)))


def _most(of_trials: Sequence[bool]) -> bool:
    return 2 * sum(of_trials) > len(of_trials)


def _verdict(
    trials: Sequence[Trial],
    maxima: Sequence[Trial],
    counted_in: Sequence[Trial],
    search: SearchState,
    processors: Processors,
    shared: bool,
) -> tuple[CellVerdict, list[Note]]:
    """The verdict, with the reasons from the cell's steps and its search."""
    # A trial that was done shows that the server supports the cell: a refusal is a failure then.
    is_supported = any(trial.status == "done" for trial in trials)
    refusals = [trial.reason for trial in trials if trial.status == "unsupported" and trial.reason]
    if refusals and not is_supported:
        return "unsupported", [Note("unsupported", values={"message": refusals[0].message})]
    if not trials:
        return "failed", [Note("not_run")]
    notes = list(_failures(trials))
    if isinstance(search, Inconclusive):
        notes.append(Note.on("search", search.reason, {"message": search.message}))
    bad = [note for t in maxima if (run := t.runs.get("maximum")) is not None
           for note in run_faults("maximum", run.record)]  # fmt: skip
    if not counted_in:
        notes += bad[:1]
        if isinstance(search, Next) and not any(t.status != "done" for t in trials):
            notes.append(Note("incomplete"))
        return ("invalid" if maxima else "failed"), notes
    notes += [replace(note, values={**note.values, "trials": len(bad)}) for note in bad[:1]]
    if 2 * len(counted_in) < len(maxima):
        return "invalid", notes
    runs = [trial.runs["maximum"] for trial in counted_in]
    busy = max(client_busy(run) for run in runs)
    if shared:
        notes.append(Note("shared_processor"))
    if busy >= SATURATED:
        notes.append(Note("client_saturated", values={"client": busy}))
    lost = [list(starved(run, processors)) for run in runs]
    notes += next((each for each in lost if each), [])
    if _most([bool(each) for each in lost]):
        return "invalid", notes
    rose = isinstance(search, Inconclusive) and search.reason in ("generator_bound", "still_rising")
    bound = rose or shared or any(is_bound(run, processors) for run in runs)
    return ("at_least" if bound else "valid"), notes


def _failures(trials: Sequence[Trial]) -> Iterator[Note]:
    """One note for each class of failure."""
    own = [trial for trial in trials if trial.factors.get("stage") != "validation"]
    reasons = [trial.reason for trial in own if trial.status != "done" and trial.reason]
    for name, count in Counter(reason.class_ for reason in reasons).items():
        message = next(reason.message for reason in reasons if reason.class_ == name)
        values = {"message": message, "steps": count, "of": len(trials)}
        yield Note.on("trial", name, values)


def _limit(counted_in: Sequence[Trial], processors: Processors) -> Limit:
    runs = [trial.runs["maximum"] for trial in counted_in]
    client = max((client_busy(run) for run in runs), default=0.0)
    used = (server_busy(run, processors) for run in runs)
    server = min((busy for busy in used if busy is not None), default=None)
    loaded = server is not None and server >= SERVER_LOADED
    side: Side
    if client >= SATURATED:
        side = "both" if loaded else "generator"
    elif server is None:
        side = "server_or_way"
    else:
        side = "server" if loaded else "neither"
    return Limit(side, client, server)
