"""The reasons that a server's highest rate is not known, in words. Pure."""

from collections.abc import Collection, Iterable, Sequence

from tlslab.analysis import steadiness
from tlslab.analysis.measures import Processors
from tlslab.analysis.validity import SERVER_LOADED, run_warnings
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Note
from tlslab.domain.trial import Trial

NOISE = "search_noise"
UNSTEADY = "unsteady"
COLD = "cold"

# Reasons by the codes of a cell's notes.
_NOTED = {
    "client_saturated": "the generator was the limit",
    "client_delayed": "the generator was ready and did not run",
    "client_starved": "the generator was ready and did not run",
    "server_delayed": "the server was ready and did not run",
    "server_starved": "the server was ready and did not run",
    "search_generator_bound": "the generator was the limit",
    "shared_processor": "server and generator share a processor",
    "search_still_rising": "the rate still rose at the most connections that were tried",
    "search_errors_rise": "the search for the maximum was inconclusive (errors rise)",
    NOISE: "the search for the maximum was inconclusive (noise)",
}

# Reasons by the codes of warnings on most trials of the maximum; other experiments use the same
# warnings for rates (validity.unsaturated).
_WARNED = {
    "disturbed": "other programs took a part of the server's processor",
    "neither_saturated": "neither the server nor the generator was busy all the time",
}

# Reasons by the course of the rate, in most trials or in the warm-up of a server.
_WENT = {
    UNSTEADY: "the rate was not steady",
    COLD: "not every server was found warm",
}

_REASONS = {**_NOTED, **_WARNED, **_WENT}

# The label of such a maximum in titles and lists, unless it is a lower bound.
_LABELS = {
    "search_errors_rise": "search inconclusive",
    NOISE: "search inconclusive",
    "disturbed": "disturbed",
    "neither_saturated": "not the server's limit",
    UNSTEADY: "not steady",
    COLD: "not warm",
}


def open_codes(
    reasons: Iterable[Note],
    maxima: Sequence[Trial],
    processors: Processors,
    labels: Sequence[steadiness.Labels],
    warm: bool,
) -> tuple[str, ...]:
    """The codes of all reasons that a maximum is not known; empty if it is known.

    `reasons` are the cell's, `maxima` the usable trials, `labels` their steadiness. `warm`: every
    server was found warm. A single trial that was disturbed or not steady is no reason; most of the
    trials must be.
    """
    warned = [
        {note.code for note in run_warnings(trial.runs["maximum"], processors)} for trial in maxima
    ]
    found = [note.code for note in reasons if note.code in _NOTED]
    found += [code for code in _WARNED if _most([code in each for each in warned])]
    found += [UNSTEADY] if _most([steadiness.unsteady(each) for each in labels]) else []
    found += [] if warm else [COLD]
    return tuple(dict.fromkeys(found))


def _most(found: Sequence[bool]) -> bool:
    return 2 * sum(found) > len(found)


def open_words(codes: Iterable[str]) -> str:
    """The reasons that the maximum is not known; empty for no codes."""
    return ", and ".join(dict.fromkeys(_REASONS[code] for code in codes))


def open_label(codes: Iterable[str]) -> str:
    """The short form: `search inconclusive`, `disturbed` or several; empty for none."""
    return ", ".join(dict.fromkeys(_LABELS[code] for code in codes if code in _LABELS))


def is_of_server(codes: Collection[str], busy: Estimate | None) -> bool:
    """Whether the rate of the maximum is the server's limit; `busy` is the server's processor use.

    Noise may hide the best number of connections. If the server was busy all the time, the rate is
    nevertheless that of its processors, at the number of connections that the search chose.
    """
    return not codes or (set(codes) == {NOISE} and busy is not None and busy.value >= SERVER_LOADED)


def is_least(codes: Collection[str], busy: Estimate | None) -> bool:
    """Whether the server takes at least the rate of the maximum, and may take more."""
    return not is_of_server(codes, busy) and UNSTEADY not in codes
