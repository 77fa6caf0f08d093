"""The answer of a run, which comes first in every report, or the reason for its absence."""

from dataclasses import dataclass

from tlslab.model.estimate import Estimate


@dataclass(frozen=True)
class Tile:
    """One figure beside the answer; `bound`: the estimate is a lower bound and is shown as `≥`."""

    title: str
    estimate: Estimate
    bound: bool = False


@dataclass(frozen=True)
class Lacking:
    """Why a run does not answer its question, and what would be enough.

    `command` repeats the run so that it can answer; `minutes` is how long that takes, where the
    trials of this run allow an estimate. `few`: fewer than five blocks, so that no sentence of the
    report may carry a figure of the run.
    """

    why: str
    command: tuple[str, ...] = ()
    minutes: float | None = None
    few: bool = False


@dataclass(frozen=True)
class Answer:
    """The question of an experiment and its answer, for a reader who reads nothing else.

    `sentences` are two at most, each carried by the intervals of the run; empty where the run does
    not answer. `confidence` says how sure the answer is, in one line: blocks, intervals, families.
    `lacking` is present exactly where there are no sentences. `tiles` are three to five, or none.
    `figure` is the id of the figure of the summary that shows the answer, or empty.
    """

    question: str
    sentences: tuple[str, ...]
    confidence: str
    lacking: Lacking | None = None
    tiles: tuple[Tile, ...] = ()
    figure: str = ""
