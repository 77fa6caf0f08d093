"""The answer of a run, which comes first in every report, or the reason for its absence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tlslab.domain.estimate import Estimate


@dataclass(frozen=True)
class Tile:
    """One figure beside the answer; `bound`: the estimate is a lower bound and is shown as `≥`."""

    title: str
    estimate: Estimate
    bound: bool = False


@dataclass(frozen=True)
class Lacking:
    """The reason that a run does not answer its question, and what would suffice.

    `command` repeats the run with enough trials for an answer; `minutes` is its estimated duration,
    None if the trials of this run allow no estimate. `few`: the run has fewer than five blocks, so
    that no sentence of the report may quote a figure of the run. `why` is the sentence of `code`
    with its `values`. The analysis leaves it empty, `words` fills it.
    """

    why: str = ""
    command: tuple[str, ...] = ()
    minutes: float | None = None
    few: bool = False
    code: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, or its line of confidence: a code with the values of its words.

    `text` is the sentence, if it has words already.
    """

    code: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    text: str = ""


@dataclass(frozen=True)
class Answer:
    """The question of an experiment and its answer, for a reader who reads nothing else.

    `sentences`: two at most, each supported by the intervals of the run; empty if the run does not
    answer. The second may go on: it quotes the recommendation if that names another level than the
    first, and has the known clients of a proof. `confidence` states the certainty of the answer in
    one line: blocks, intervals, families. `lacking` is present if there are no sentences; beside a
    sentence it is of the rest of the answer. `tiles`: three to five, or none. `figure`: the id of
    the summary's figure that shows the answer, or empty.

    `statements` and `certainty` are what `sentences` and `confidence` say, by code. The analysis
    leaves the texts empty, `words` fills them.
    """

    question: str
    sentences: tuple[str, ...] = ()
    confidence: str = ""
    lacking: Lacking | None = None
    tiles: tuple[Tile, ...] = ()
    figure: str = ""
    statements: tuple[Statement, ...] = ()
    certainty: Statement | None = None
