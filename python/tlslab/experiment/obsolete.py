"""The cell with obsolete levels, in addition to the factors' cells."""

from tlslab.domain.capacity import Obsolete
from tlslab.domain.deployment import NO_FRONT, Deployment
from tlslab.domain.plan import Cell
from tlslab.domain.profile import Profile
from tlslab.experiment.cells import cell_key


def obsolete_cell(obsolete: Obsolete) -> Cell:
    """The cell; its server allows obsolete settings."""
    levels = dict(obsolete.levels)
    suite, group = levels.get("suite"), levels.get("group")
    profile = Profile(
        tls=levels.get("tls"),
        key=levels.get("key"),
        groups=() if group is None else (group,),
        suites=() if suite is None else (suite,),
        backend="openssl",
    )
    processors, workers = levels.get("processors"), levels.get("workers")
    deployment = Deployment(
        server=levels.get("server", "reference"),
        front=levels.get("front", NO_FRONT),
        processors=None if processors is None else int(processors),
        workers=None if workers is None else int(workers),
        obsolete=True,
    )
    return Cell(cell_key(levels), levels, profile, deployment)
