"""The graded cells of one setting of a run: all compared levels, and those fit to recommend."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.advice.policy import Policy
from tlslab.advice.preference import SUBJECTS, Subject, terminator
from tlslab.advice.setting_grade import Graded, grade_group, grade_suite
from tlslab.advice.strength import in_order, ranks, strength
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import CellSummary
from tlslab.domain.names import GROUPS, SUITES, find_suite
from tlslab.domain.run import Environment
from tlslab.domain.wording import cell_label

# Servers with another server's TLS: an order measured on one holds for the other.
KIN: Mapping[str, tuple[str, ...]] = {
    "rwserve": ("node",),
    "jvm": ("tomcat",),
}

# Factors that belong to some suites only, and are compared along with them.
_BESIDE = ("dh_bits",)


@dataclass(frozen=True)
class Entry:
    """A cell of the setting; `name` is its suite or group."""

    cell: str
    name: str
    graded: Graded
    verdict: str

    @property
    def seen(self) -> bool:
        """Whether the server was seen to support the entry."""
        return self.verdict in ("valid", "at_least", "invalid")

    @property
    def short(self) -> str:
        """OpenSSL's name of a suite, a group's own."""
        suite = find_suite(self.name)
        return self.name if suite is None else suite.openssl


@dataclass(frozen=True)
class Field:
    """The cells of one setting of a run, the safest first.

    `server`: the program that speaks TLS in them. `others`: the number of further settings of the
    run. `policies`: those that apply.
    """

    subject: Subject
    server: str
    software: str
    setting: Mapping[str, str]
    others: int
    entries: tuple[Entry, ...]
    policies: tuple[Policy, ...]

    @property
    def allowed(self) -> tuple[Entry, ...]:
        """The entries without objections that the server supports; each name once."""
        once: dict[str, Entry] = {}
        for each in self.entries:
            if each.graded.passes and each.seen:
                once.setdefault(each.name, each)
        return tuple(once.values())

    @property
    def objected(self) -> tuple[Entry, ...]:
        """The entries with an objection, and those that no policy mentions."""
        return tuple(each for each in self.entries if not each.graded.passes)

    @property
    def lacking(self) -> tuple[Entry, ...]:
        """The entries without objections that the server was not seen to support."""
        return tuple(each for each in self.entries if each.graded.passes and not each.seen)

    @property
    def security(self) -> dict[str, int]:
        """The security rank of each allowed cell by its key, the safest first."""
        allowed = self.allowed
        found = ranks([each.graded for each in allowed])
        return {each.cell: rank for each, rank in zip(allowed, found, strict=True)}

    @property
    def where(self) -> str:
        """The setting in words, without the server."""
        rest = {name: level for name, level in self.setting.items() if name != "server"}
        return cell_label(rest) if rest else ""

    def entry(self, cell: str) -> Entry:
        """The entry of a cell. Raises KeyError if there is none."""
        for each in self.entries:
            if each.cell == cell:
                return each
        raise KeyError(cell)


def compared_subject(experiment: Experiment) -> Subject | None:
    """The compared factor for which a server can be given a preference.

    None for other experiments.
    """
    for subject in SUBJECTS:
        if len(experiment.levels(subject)) > 1:
            return subject
    return None


def field_of(
    subject: Subject,
    cells: Sequence[CellSummary],
    environment: Environment,
    policies: tuple[Policy, ...],
    server: str,
) -> Field:
    """The cells of the setting that suits a server best.

    That is the first setting measured on the server itself, or on one with the same TLS; of
    several, one with HTTP/2, for Domino one with TLS 1.2; else the first of the run. A setting
    without anything to recommend counts only if all settings are like that.
    """
    target = environment.target
    found: list[Field] = []
    for setting in _settings(subject, cells):
        mates = [cell for cell in cells if _setting(subject, cell) == setting]
        where = terminator(setting, target.name)
        entries = [_entry(subject, cell, policies) for cell in mates]
        found.append(
            Field(
                subject=subject,
                server=where,
                software=target.software if where == target.name else "",
                setting=setting,
                others=0,
                entries=tuple(sorted(entries, key=lambda each: strength(each.graded))),
                policies=policies,
            )
        )
    best = min(found, key=lambda each: _unsuited(each, server))
    return replace(best, others=len(found) - 1)


def _unsuited(field: Field, server: str) -> tuple[bool, bool, bool, bool]:
    """A sort key: False sorts first; among equals `min` takes the first."""
    return (
        not field.allowed,
        field.server not in (server, *KIN.get(server, ())),
        server == "domino" and field.setting.get("tls") != "1.2",
        field.setting.get("http") != "2",
    )


def _settings(subject: Subject, cells: Iterable[CellSummary]) -> list[Mapping[str, str]]:
    found: list[Mapping[str, str]] = []
    for cell in cells:
        if (setting := _setting(subject, cell)) not in found:
            found.append(setting)
    return found


def _setting(subject: Subject, cell: CellSummary) -> Mapping[str, str]:
    left_out = (subject, *_BESIDE)
    return {name: level for name, level in cell.factors.items() if name not in left_out}


def _entry(subject: Subject, cell: CellSummary, policies: Sequence[Policy]) -> Entry:
    name = cell.factors[subject]
    if subject == "group":
        return Entry(cell.key, name, grade_group(name, policies), cell.verdict)
    bits = cell.factors.get("dh_bits", "")
    size = int(bits) if bits.isdigit() else None
    graded = grade_suite(name, cell.factors.get("http"), size, policies)
    return Entry(cell.key, name, graded, cell.verdict)


def unmeasured_suites(tls: str, policies: Sequence[Policy]) -> tuple[str, ...]:
    """The suites of a version that no policy objects to, over HTTP/2 as well; the safest first."""
    graded = [grade_suite(each.name, "2", by=policies) for each in SUITES if each.tls == tls]
    return tuple(each.name for each in in_order(graded) if each.passes)


def unmeasured_groups(policies: Sequence[Policy]) -> tuple[str, ...]:
    """The groups that no policy objects to, the safest first."""
    graded = [grade_group(each.name, policies) for each in GROUPS]
    return tuple(each.name for each in in_order(graded) if each.passes)
