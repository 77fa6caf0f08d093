"""The reasons that a server's highest rate is not known: one row each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

NOISE = "search_noise"
UNSTEADY = "unsteady"
COLD = "cold"


@dataclass(frozen=True)
class OpenReason:
    """A reason in words; `label`: its short form, empty for one that makes a lower bound.

    `by`: a note of the cell, a warning on most trials of the maximum, or the course of the rate.
    """

    words: str
    label: str = ""
    by: Literal["note", "warnings", "course"] = "note"


_GENERATOR = "the generator was the limit"
_NOT_RUN = "the {} was ready and did not run"

OPEN: Mapping[str, OpenReason] = {
    "client_saturated": OpenReason(_GENERATOR),
    "client_delayed": OpenReason(_NOT_RUN.format("generator")),
    "client_starved": OpenReason(_NOT_RUN.format("generator")),
    "server_delayed": OpenReason(_NOT_RUN.format("server")),
    "server_starved": OpenReason(_NOT_RUN.format("server")),
    "search_generator_bound": OpenReason(_GENERATOR),
    "shared_processor": OpenReason("server and generator share a processor"),
    "search_still_rising": OpenReason(
        "the rate still rose at the most connections that were tried"
    ),
    "search_errors_rise": OpenReason(
        "the search for the maximum was inconclusive (errors rise)", "search inconclusive"
    ),
    NOISE: OpenReason("the search for the maximum was inconclusive (noise)", "search inconclusive"),
    "disturbed": OpenReason(
        "other programs took a part of the server's processor", "disturbed", by="warnings"
    ),
    "neither_saturated": OpenReason(
        "neither the server nor the generator was busy all the time",
        "not the server's limit",
        by="warnings",
    ),
    UNSTEADY: OpenReason("the rate was not steady", "not steady", by="course"),
    COLD: OpenReason("not every server was found warm", "not warm", by="course"),
}


def open_words(codes: Iterable[str]) -> str:
    """The reasons that the maximum is not known; empty for no codes."""
    return ", and ".join(dict.fromkeys(OPEN[code].words for code in codes))


def open_label(codes: Iterable[str]) -> str:
    """The short form: `search inconclusive`, `disturbed` or several; empty for none."""
    return ", ".join(dict.fromkeys(OPEN[code].label for code in codes if OPEN[code].label))
