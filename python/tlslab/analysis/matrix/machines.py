"""The machines of a run in several sittings, and whether they agree."""

from collections.abc import Mapping, Sequence

from tlslab.analysis.compare import Measured, logs_by_machine, with_baseline
from tlslab.analysis.stats.machines import DISAGREE, disagreement
from tlslab.domain.estimates import judged_in
from tlslab.domain.finding import Finding
from tlslab.domain.run import RunContents, kind_of_machine


def machines(
    contents: RunContents, cells: Sequence[Measured], baseline: Mapping[str, str]
) -> list[Finding]:
    """The finding on a run's machines; none if there was one.

    `compared`: the number of ratios to the baseline that several machines have. `disagree`: the
    number of those in which they disagree.
    """
    where = contents.environment
    used = {where.machines.get(trial.sitting, 0) for trial in contents.trials}
    if len(used) < 2:
        return []
    ps = [
        p
        for cell, other in with_baseline(cells, baseline)
        for name in judged_in("cells")
        if (p := disagreement(*logs_by_machine(_of(cell, name), _of(other, name)))) is not None
    ]
    values = {
        "sittings": len(where.sittings),
        "machines": len(used),
        "kinds": len({kind_of_machine(each) for each in where.sittings}),
        "compared": len(ps),
        "disagree": sum(p <= DISAGREE for p in ps),
    }
    return [Finding("machines", values=values)]


def _of(cell: Measured, name: str) -> Mapping[int, float]:
    return cell.values.get(name, {})
