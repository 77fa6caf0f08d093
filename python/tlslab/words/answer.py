"""The answer of a run in sentences."""

import shlex
from collections.abc import Iterator

from tlslab.domain.estimates import shown
from tlslab.domain.finding import Answer, Lacking, Summary, Tile
from tlslab.domain.wording import counted, figure
from tlslab.words.numbers import range_words

NOT_ENOUGH = "Not enough to say."
MORE = "Not enough to say more."


def question(summary: Summary) -> str:
    """The question of the run; the experiment's title if an older summary has no question."""
    return summary.experiment.title if summary.answer is None else summary.answer.question


def answer_lines(answer: Answer) -> Iterator[str]:
    """The sentences, or the reason for their absence; without the command."""
    yield from answer.sentences
    if answer.lacking is not None:
        yield f"{MORE if answer.sentences else NOT_ENOUGH} {answer.lacking.why}"


def enough_words(lacking: Lacking) -> str:
    """The words before the command that would suffice: `enough, in about 3 minutes: `."""
    if lacking.minutes is None:
        return "enough: "
    return f"enough, in about {counted(max(1, round(lacking.minutes)), 'minute')}: "


def enough_command(lacking: Lacking) -> str:
    """The command on one line; empty if none would suffice."""
    return shlex.join(lacking.command)


def tile_words(tile: Tile) -> str:
    """`New connections/s: ≥ 3,889`, `Server's processor time: 254 µs (251–257)`."""
    given = shown(tile.estimate)
    unit = "" if given.unit == "/s" else f" {given.unit}"
    if tile.bound:
        return f"{tile.title}: ≥ {figure(given.value)}{unit}"
    ends = ""
    if given.low is not None and given.high is not None:
        ends = f" ({range_words(figure(given.low), figure(given.high))})"
    return f"{tile.title}: {figure(given.value)}{unit}{ends}"
