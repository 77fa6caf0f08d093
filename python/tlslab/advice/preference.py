"""The preference for a server: a run's order without the levels that policies object to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tlslab.advice.setting_grade import Graded, grade_group, grade_suite
from tlslab.model.deployment import NO_FRONT
from tlslab.model.finding import CellSummary, Place, Ranking, Summary
from tlslab.model.leading import lead
from tlslab.model.wording import cell_label, difference

Subject = Literal["suite", "group"]

# The estimates that order a subject's cells, and those that decide between tied ones.
MEASURES: Mapping[Subject, tuple[str, ...]] = {
    "suite": ("keep_alive_requests_per_s", "server_cpu_us_per_connection", "connections_per_s"),
    "group": ("connections_per_s", "server_cpu_us_per_connection"),
}


@dataclass(frozen=True)
class Choice:
    """A suite or a group: `place` counts from 0 over all, `best` and `worst` are its open ranks.

    `may_differ`: the largest difference, as a share, that stays open between this choice and those
    tied with it; None if it is not known.
    """

    name: str
    place: int
    best: int
    worst: int
    graded: Graded
    cell: str
    may_differ: float | None = None

    @property
    def left_open(self) -> str:
        """The possible difference from the choices tied with this one, in words."""
        if self.may_differ is None:
            return "by how much they may differ is not known"
        return f"they may differ by up to {difference(self.may_differ)}"


@dataclass(frozen=True)
class Preference:
    """The preferred levels for a server, best first, and the levels left out for their security.

    `server`: the name of the measured target; `where`: the rest of its setting. `by`: the estimates
    that determined the order. `bare`: the emitter's caller writes the comments at the head.
    """

    subject: Subject
    server: str
    software: str
    setting: Mapping[str, str]
    by: tuple[str, ...]
    chosen: tuple[Choice, ...]
    left_out: tuple[Choice, ...]
    bare: bool = False

    @property
    def where(self) -> str:
        """The setting in words; empty if all factors were compared."""
        rest = {name: level for name, level in self.setting.items() if name != "server"}
        return cell_label(rest) if rest else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The preferred levels, best first."""
        return tuple(choice.name for choice in self.chosen)


def subject_of(summary: Summary) -> Subject | None:
    """The compared factor for which a server can be given a preference.

    None for other experiments.
    """
    if not summary.rankings:
        return None
    for subject in MEASURES:
        if len(summary.experiment.factors.get(subject, ())) > 1:
            return subject
    return None


def preferences(summary: Summary) -> tuple[Preference, ...]:
    """One preference for each setting that has a ranking, in the order of the summary."""
    subject = subject_of(summary)
    if subject is None:
        return ()
    settings: list[Mapping[str, str]] = []
    for ranking in summary.rankings:
        if ranking.setting not in settings:
            settings.append(ranking.setting)
    found = (_preference(summary, subject, setting) for setting in settings)
    return tuple(each for each in found if each is not None)


def _preference(
    summary: Summary, subject: Subject, setting: Mapping[str, str]
) -> Preference | None:
    by_estimate = {r.estimate: r for r in summary.rankings if r.setting == setting}
    used = [name for name in MEASURES[subject] if name in by_estimate]
    if not used:
        return None
    cells = {cell.key: cell for cell in summary.cells}
    ordered = _ordered([by_estimate[name] for name in used])
    places = _once(
        _choice(subject, cells[each.cell], number, each) for number, each in enumerate(ordered)
    )
    target = summary.environment.target
    server = terminator(setting, target.name)
    return Preference(
        subject=subject,
        server=server,
        software=target.software if server == target.name else "",
        setting=setting,
        by=tuple(used[:2]),
        chosen=tuple(place for place in places if place.graded.passes),
        left_out=tuple(place for place in places if not place.graded.passes),
    )


def terminator(setting: Mapping[str, str], target: str) -> str:
    """The program that speaks TLS: the front, if there is one."""
    front = setting.get("front", NO_FRONT)
    return front if front != NO_FRONT else setting.get("server", target)


def _ordered(rankings: list[Ranking]) -> list[Place]:
    """Cells by their best rank in the first ranking, then in the order of the next one."""
    first, *others = rankings
    later = [key for ranking in others[:1] for key in ranking.cells]
    number = {key: place for place, key in enumerate(later)}
    found = lead(first)
    # A lower bound below the first may be anything; it is placed by its value.
    unknown = set() if found is None else set(found.open)
    rank = {
        each.cell: place if each.cell in unknown else each.best
        for place, each in enumerate(first.places, start=1)
    }
    return sorted(
        first.places, key=lambda each: (rank[each.cell], number.get(each.cell, len(number)))
    )


def _choice(subject: Subject, cell: CellSummary, place: int, ranks: Place) -> Choice:
    name, best, worst = cell.factors[subject], ranks.best, ranks.worst
    if subject == "group":
        return Choice(name, place, best, worst, grade_group(name), cell.key, ranks.may_differ)
    bits = cell.factors.get("dh_bits", "")
    size = int(bits) if bits.isdigit() else None
    graded = grade_suite(name, cell.factors.get("http"), size)
    return Choice(name, place, best, worst, graded, cell.key, ranks.may_differ)


def _once(places: Iterable[Choice]) -> list[Choice]:
    """Each name once, at its best place: a suite may have cells of several DH sizes."""
    seen: dict[str, Choice] = {}
    for place in places:
        seen.setdefault(place.name, place)
    return list(seen.values())
