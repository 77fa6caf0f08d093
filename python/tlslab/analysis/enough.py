"""What a run lacks to answer its question, and what would be enough. Pure."""

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from tlslab.analysis.stats.power import detectable
from tlslab.model.answer import Lacking
from tlslab.model.commands import ONE_RUN, without_options
from tlslab.model.run import RunContents
from tlslab.model.stopping import LEAST_BLOCKS
from tlslab.model.wording import counted

# With fewer blocks or repetitions there is no finding: half of an interval's width would come from
# their small number.
FEWEST = LEAST_BLOCKS

# The certainty of an answer from so few; no report shows its intervals (report.few_trials).
DOTS_ONLY = "dots only, no interval"

# The difference that a repeated run is to find or to exclude, and the blocks that it may take.
AIM = 0.05
_BLOCKS = 10
_MOST = 60

# Intervals that hold after every block take about twice the blocks of those that hold at the end.
_ANYTIME = 2

# Options of the one run, or of its length.
OWN = (*ONE_RUN, "--seed", "--blocks", "--until", "--budget")


def wanted_blocks(noise: Sequence[float]) -> int:
    """How many blocks would find or exclude AIM; `noise` are logarithms of ratios, paired."""
    if len(noise) < 2:
        return _BLOCKS
    spread = float(np.std(noise, ddof=1))
    enough = next((n for n in range(FEWEST, _MOST) if detectable(spread, n) <= AIM), _MOST)
    return min(_MOST, max(_BLOCKS, _ANYTIME * enough))


def again(contents: RunContents, *options: str) -> tuple[str, ...]:
    """The command of the run with other options for its length."""
    words = without_options(contents.environment.command, OWN)
    return (*words, *options)


def too_few(contents: RunContents, n: int, what: str = "block") -> Lacking:
    """A lack of blocks or repetitions: fewer than FEWEST, and how many would be enough."""
    why = f"{counted(n, what)}: fewer than {FEWEST} carry no sentence."
    command = again(contents, "--blocks", str(FEWEST))
    return Lacking(why, command, minutes(contents, FEWEST / n), few=True)


def open_still(contents: RunContents, why: str, blocks: int) -> Lacking:
    """A lack of precision in a run in blocks; the remedy is --until what is open is settled."""
    begun = 1 + max((trial.block for trial in contents.trials), default=0)
    command = again(contents, "--until", f"{AIM:.0%}", "--blocks", str(blocks))
    return Lacking(why, command, minutes(contents, blocks / begun))


def minutes(contents: RunContents, times: float) -> float | None:
    """How long a run takes that is N `times` as long, in minutes; None where trials do not show."""
    starts = sorted(datetime.fromisoformat(trial.started) for trial in contents.trials)
    if len(starts) < 2 or starts[-1] == starts[0]:
        return None
    whole = (starts[-1] - starts[0]).total_seconds() * len(starts) / (len(starts) - 1)
    # Rounded up to a tenth, so that a run of seconds does not take 0 minutes.
    return math.ceil(whole * times / 6) / 10
