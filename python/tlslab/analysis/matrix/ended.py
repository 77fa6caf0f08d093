"""The reason that a run in blocks ended, the number of blocks saved, and the open questions."""

from tlslab.analysis.open_cells import Replay
from tlslab.domain.finding import Finding
from tlslab.domain.run import RunContents
from tlslab.domain.stopping import Stopping
from tlslab.domain.wording import counted, difference


def ended(contents: RunContents, stopping: Stopping, replayed: Replay) -> Finding:
    """The finding on how the run ended, in sentences."""
    plan, left = contents.plan, replayed.left
    settled = (
        f"a difference is established, or one of more than {difference(stopping.until)} is excluded"
    )
    if left.pairs and replayed.blocks < plan.blocks:
        text = f"The run ended early, after {counted(replayed.blocks, 'block')}: "
    elif left.pairs:
        text = f"The run took all of its {counted(plan.blocks, 'block')}: "
    elif replayed.blocks < plan.blocks:
        text = f"The run ended after {replayed.blocks} of at most {plan.blocks} blocks: "
    else:
        text = f"The run took all of its {counted(plan.blocks, 'block')}: "
    if left.pairs:
        open_ = counted(len(left.pairs), "comparison")
        verb = "is" if len(left.pairs) == 1 else "are"
        text += f"{open_} {verb} open (settled means: {settled})."
    elif not left.tested:
        text += "no two cells can be compared."
    elif left.untested:
        text += f"the comparisons that can be made are settled ({settled})."
    elif stopping.answer == "best":
        text += f"which cells are best is settled ({settled})."
    else:
        text += f"every comparison is settled ({settled})."
    if left.untested:
        cannot = counted(left.untested, "comparison")
        text += f" {cannot} cannot be made: a cell is invalid, or its rate is a lower bound."
    spared = f" It made {len(contents.trials)} of {len(plan.trials)} trials."
    return Finding("ended", text + spared, tuple(sorted(left.cells)))
