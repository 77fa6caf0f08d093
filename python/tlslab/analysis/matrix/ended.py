"""The reason that a run in blocks ended, the number of blocks saved, and the open questions."""

from tlslab.analysis.open_cells import Replay
from tlslab.domain.finding import Finding
from tlslab.domain.run import RunContents
from tlslab.domain.stopping import Stopping


def ended(contents: RunContents, stopping: Stopping, replayed: Replay) -> Finding:
    """The finding on how the run ended."""
    plan, left = contents.plan, replayed.left
    values = {
        "until": stopping.until,
        "answer": stopping.answer,
        "blocks": replayed.blocks,
        "planned_blocks": plan.blocks,
        "trials": len(contents.trials),
        "planned_trials": len(plan.trials),
        "open": len(left.pairs),
        "tested": left.tested,
        "untested": left.untested,
    }
    return Finding("ended", values=values, cells=tuple(sorted(left.cells)))
