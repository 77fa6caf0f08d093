"""The cells of an experiment, and the excluded combinations, each with its reason."""

from collections.abc import Iterable, Iterator, Mapping

from tlslab.domain.capacity import Obsolete
from tlslab.domain.deployment import NO_FRONT, Deployment
from tlslab.domain.experiment import Experiment, Pin, matches
from tlslab.domain.factors import DEPLOYED, FACTORS, OFFERED, Combination, levels_of
from tlslab.domain.levels import Levels
from tlslab.domain.names import NO_TLS
from tlslab.domain.plan import Cell, Excluded
from tlslab.domain.profile import Profile
from tlslab.domain.workload import resumption

Factors = Mapping[str, str]


def make_cells(
    experiment: Experiment, server: str = "reference"
) -> tuple[tuple[Cell, ...], tuple[Excluded, ...]]:
    """All combinations of levels, the first factor varying slowest: cells and exclusions.

    `server` is the server of all cells if the experiment has no such factor.
    """
    cells: list[Cell] = []
    excluded: list[Excluded] = []
    for factors in _combinations(experiment):
        reason = _exclusion(experiment, factors) or contradiction(experiment, factors)
        if reason is None:
            profile = make_profile(experiment, factors)
            deployment = make_deployment(experiment, factors, server)
            cells.append(Cell(cell_key(factors), factors, profile, deployment))
        else:
            excluded.append(Excluded(factors, reason))
    return tuple(cells), tuple(excluded)


def cell_key(factors: Factors) -> str:
    """A cell's key: `tls=1.3,key=ecdsa-p256,group=X25519`."""
    return ",".join(f"{name}={level}" for name, level in factors.items())


def _combinations(experiment: Experiment) -> Iterator[Factors]:
    """Every combination once; a factor that does not apply has a level of its own."""
    seen = set()
    for factors in experiment.combinations():
        if (key := cell_key(factors)) not in seen:
            seen.add(key)
            yield factors


def _exclusion(experiment: Experiment, factors: Factors) -> str | None:
    for exclusion in experiment.exclusions:
        if matches(exclusion.when, factors):
            return exclusion.reason
    return None


def make_profile(experiment: Experiment, factors: Factors) -> Profile:
    """The settings that a cell forces: its own levels, and the additions of the experiment's pins.

    A level of the factors `suite`, `group` and `key` replaces the pinned one; the suite
    `by-version` is none and leaves the choice to the pins.
    """
    pins = [pin for pin in experiment.pins if matches(pin.when, factors)]
    group = factors.get("group")
    return Profile(
        tls=factors.get("tls"),
        key=factors.get("key") or _first(pin.key for pin in pins),
        groups=_joined(pins, "groups") if group is None else (group,),
        suites=experiment.suites(factors),
        signature_schemes=_joined(pins, "signature_schemes"),
        backend=_first(pin.backend for pin in pins),
        levels=levels_of(OFFERED, factors),
    )


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def make_deployment(experiment: Experiment, factors: Factors, server: str) -> Deployment:
    """The server-side requirements of a cell."""
    return Deployment(
        server=factors.get("server", server),
        front=factors.get("front", NO_FRONT),
        resume=resumption(factors, experiment.workload.resume),
        plain=factors.get("tls") == NO_TLS,
        prior_knowledge=(
            factors.get("tls") == NO_TLS and experiment.workload.of(factors).http == "2"
        ),
        levels=levels_of(DEPLOYED, factors),
    )


def _joined(pins: list[Pin], field: str) -> tuple[str, ...]:
    """The names of one field over several pins, each once, in their order."""
    return tuple(dict.fromkeys(name for pin in pins for name in getattr(pin, field)))


def contradiction(experiment: Experiment, factors: Factors) -> str | None:
    """The reason that there is no such handshake; None if there is."""
    load = experiment.workload.of(factors)
    all_resume = load.resume != "none" and load.resume_ratio == 1
    combination = Combination(factors, make_profile(experiment, factors), all_resume)
    kept = load.keep_alive
    if factors.get("tls") == NO_TLS and kept and kept.http not in (None, load.http):
        return "a server without TLS speaks one version of HTTP"
    reasons = (row.excludes(combination) for row in FACTORS.values() if row.excludes)
    return next(filter(None, reasons), None)


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
    deployment = Deployment(
        server=levels.get("server", "reference"),
        front=levels.get("front", NO_FRONT),
        obsolete=True,
        levels=Levels.of({n: levels[n] for n in ("processors", "workers") if n in levels}),
    )
    return Cell(cell_key(levels), levels, profile, deployment)
