"""The recommendation: one choice among the cells without objections, by an aim, with its price.

Report, `recommend`, `prove` and the answer of a run quote the same object. Policies determine the
candidates and their security; the weights of the measurements (`TradeOffs`) come from the analysis.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tlslab.advice.emit import Preference
from tlslab.advice.policy import GRADES, Policy
from tlslab.advice.setting_grade import (
    SUBJECTS,
    Graded,
    Subject,
    grade_group,
    grade_suite,
    is_pq_hybrid,
    ranks,
    strength,
)
from tlslab.domain.deployment import NO_FRONT, front_level
from tlslab.domain.estimates import (
    CONNECTIONS,
    OPEN_REQUESTS,
    OPEN_SERVER_COST,
    SERVER_COST,
    SERVICE,
    WIRE_BYTES,
    quantile,
)
from tlslab.domain.factors import dh_size
from tlslab.domain.finding import CellSummary
from tlslab.domain.names import find_suite
from tlslab.domain.recommendation import Aim, Grounds, Price, RecommendedChoice, Rival
from tlslab.domain.run import Environment
from tlslab.domain.trade_off import TradeOffs
from tlslab.domain.wording import cell_label, difference

# Rates first, then costs if a rate was not the server's limit.
_CONNECTIONS = (CONNECTIONS, SERVER_COST)
_REQUESTS = (OPEN_REQUESTS, OPEN_SERVER_COST)
_LATENCY = tuple(quantile(SERVICE, percentage) for percentage in (99, 95, 50))
_BYTES = (WIRE_BYTES,)

# Servers with another server's TLS: an order measured on one holds for the other.
KIN: Mapping[str, tuple[str, ...]] = {
    "rwserve": ("node",),
    "jvm": ("tomcat",),
}

# Factors that belong to some suites only, and are compared along with them.
_BESIDE = ("dh_bits",)

# With a smaller probability, the choice does not count as the best one in a dimension.
_HARDLY = 0.05


def compared_subject(factors: Mapping[str, Sequence[str]]) -> Subject | None:
    """The compared factor for which a server can be given a preference; None without one.

    `factors`: the levels of each factor of a run.
    """
    return next((subject for subject in SUBJECTS if len(factors.get(subject, ())) > 1), None)


def terminator(setting: Mapping[str, str], target: str) -> str:
    """The program that speaks TLS: the front, if there is one."""
    front = front_level(setting.get("front", NO_FRONT))
    if front is not None and not front.passes_tls:
        return front.target
    return setting.get("server", target)


def graded(
    subject: Subject,
    factors: Mapping[str, str],
    http: str | None = None,
    by: Sequence[Policy] | None = None,
) -> Graded:
    """The grade of a cell's suite or group by policies, None for all.

    `http`: the run's version, if it has only one.
    """
    name = factors[subject]
    if subject == "group":
        return grade_group(name, by)
    size = dh_size(factors.get("dh_bits", ""))
    return grade_suite(name, factors.get("http", http), size, by)


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
        for entry in self.entries:
            if entry.graded.passes and entry.seen:
                once.setdefault(entry.name, entry)
        return tuple(once.values())

    @property
    def objected(self) -> tuple[Entry, ...]:
        """The entries with an objection, and those that no policy mentions."""
        return tuple(entry for entry in self.entries if not entry.graded.passes)

    @property
    def lacking(self) -> tuple[Entry, ...]:
        """The entries without objections that the server was not seen to support."""
        return tuple(entry for entry in self.entries if entry.graded.passes and not entry.seen)

    @property
    def security(self) -> dict[str, int]:
        """The security rank of each allowed cell by its key, the safest first."""
        allowed = self.allowed
        ranked = ranks([entry.graded for entry in allowed])
        return {entry.cell: rank for entry, rank in zip(allowed, ranked, strict=True)}

    @property
    def where(self) -> str:
        """The setting in words, without the server."""
        rest = {name: level for name, level in self.setting.items() if name != "server"}
        return cell_label(rest) if rest else ""

    @property
    def grounds(self) -> Grounds:
        """What is said of the run and of the policies."""
        return Grounds(
            software=self.software,
            others=self.others,
            policies=tuple(policy.about for policy in self.policies),
            left_out={each.short: each.graded.gravest for each in self.objected},
            lacking=tuple(each.short for each in self.lacking),
        )

    def entry(self, cell: str) -> Entry:
        """The entry of a cell. Raises KeyError if there is none."""
        for entry in self.entries:
            if entry.cell == cell:
                return entry
        raise KeyError(cell)


def field_of(
    subject: Subject,
    cells: Sequence[CellSummary],
    environment: Environment,
    policies: tuple[Policy, ...],
    server: str,
    http: str | None = None,
) -> Field:
    """The cells of the setting that suits a server best; `http` as for `graded`.

    That is the first setting measured on the server itself, or on one with the same TLS; of
    several, one with HTTP/2, for Domino one with TLS 1.2; else the first of the run. A setting
    without anything to recommend counts only if all settings are like that.
    """
    target = environment.target
    fields: list[Field] = []
    for setting in _settings(subject, cells):
        where = terminator(setting, target.name)
        entries = [
            Entry(
                cell.key,
                cell.factors[subject],
                graded(subject, cell.factors, http, policies),
                cell.verdict,
            )
            for cell in cells
            if _setting(subject, cell) == setting
        ]
        fields.append(
            Field(
                subject=subject,
                server=where,
                software=target.software if where == target.name else "",
                setting=setting,
                others=0,
                entries=tuple(sorted(entries, key=lambda entry: strength(entry.graded))),
                policies=policies,
            )
        )
    best = min(fields, key=lambda field: _unsuited(field, server))
    return replace(best, others=len(fields) - 1)


def _unsuited(field: Field, server: str) -> tuple[bool, bool, bool, bool]:
    """A sort key: False sorts first; among equals `min` takes the first."""
    return (
        not field.allowed,
        field.server not in (server, *KIN.get(server, ())),
        server == "domino" and field.setting.get("tls") != "1.2",
        field.setting.get("http") != "2",
    )


def _settings(subject: Subject, cells: Iterable[CellSummary]) -> list[Mapping[str, str]]:
    settings: list[Mapping[str, str]] = []
    for cell in cells:
        if (setting := _setting(subject, cell)) not in settings:
            settings.append(setting)
    return settings


def _setting(subject: Subject, cell: CellSummary) -> Mapping[str, str]:
    left_out = (subject, *_BESIDE)
    return {name: level for name, level in cell.factors.items() if name not in left_out}


def measures(aim: Aim, field: Field) -> tuple[str, ...]:
    """The deciding measures, in the order in which they are tried.

    For the aim `security` they decide among equally safe cells. For throughput a connection decides
    before a request, except between suites of one kind of certificate: these differ in their
    ciphers alone. A suite of another kind also takes another certificate, whose signature costs
    more than the requests of a connection differ by.
    """
    match aim:
        case "latency":
            return _LATENCY
        case "bytes":
            return _BYTES
    if field.subject == "group":
        return _CONNECTIONS
    kinds = {"_ECDSA_" in entry.name for entry in field.allowed}
    return (*_CONNECTIONS, *_REQUESTS) if len(kinds) > 1 else (*_REQUESTS, *_CONNECTIONS)


@dataclass(frozen=True)
class Recommendation:
    """A choice, the order behind it, and the trade-offs considered; `order` has cells' keys."""

    field: Field
    aim: Aim
    trade_offs: TradeOffs
    order: tuple[str, ...]
    prices: tuple[Price, ...] = ()

    @property
    def chosen(self) -> Entry:
        """The recommended entry."""
        return self.field.entry(self.order[0])

    @property
    def names(self) -> tuple[str, ...]:
        """The suites or groups in their order."""
        return tuple(self.field.entry(key).name for key in self.order)

    @property
    def equals(self) -> frozenset[str]:
        """The cells that cannot be told apart from the choice by the aim."""
        weighed, first = self.trade_offs, {self.order[0]}
        return frozenset(first | set(weighed.contenders) if weighed.decided else first)

    @property
    def choice(self) -> RecommendedChoice:
        """What is said of the recommendation."""
        field, graded = self.field, self.chosen.graded
        cells = (*self.order, *(price.cell for price in self.prices))
        beside = [price.cell for price in self.prices if price.rival == "fastest"]
        return RecommendedChoice(
            server=field.server,
            where=field.where,
            aim=self.aim,
            trade_offs=self.trade_offs,
            order=self.order,
            names={cell: field.entry(cell).short for cell in cells},
            security=field.security,
            grade=graded.grade or GRADES[-1],
            hybrid=is_pq_hybrid(graded.name),
            recommended_by=tuple(
                each.policy.title for each in graded.opinions if each.grade == "recommended"
            ),
            prices=self.prices,
            objection=field.entry(beside[0]).graded.objection if beside else "",
        )

    @property
    def preference(self) -> Preference:
        """The recommendation in the form for emitters."""
        field, left = self.field, self.trade_offs.may_differ
        words = "by how much they may differ is not known"
        return Preference(
            subject=field.subject,
            server=field.server,
            names=self.names,
            equals=frozenset(field.entry(key).name for key in self.equals),
            left_open=words if left is None else f"they may differ by up to {difference(left)}",
        )


def decide(field: Field, aim: Aim, weighed: TradeOffs) -> Recommendation | None:
    """The order by the aim; None if nothing may be recommended.

    `security`: the safest first, equally safe ones in the order of their throughput.
    """
    security = field.security
    if not security:
        return None
    order = weighed.order
    if aim == "security":
        order = tuple(sorted(order, key=lambda key: security[key]))
    return Recommendation(field, aim, weighed, order)


def rivals(decided: Recommendation, objected: str | None) -> list[tuple[Rival, str, str]]:
    """The comparisons of the choice: the rival, its cell, the measure.

    `objected`: the best of all cells by the aim's measure, if a policy objects to it. Only measured
    rivals other than the choice itself are included.
    """
    chosen, trade_offs = decided.trade_offs.cell(decided.order[0]), decided.trade_offs
    if not trade_offs.measure or chosen is None:
        return []
    safest = min(trade_offs.cells, key=lambda cell: cell.security)
    allowed = _best(trade_offs, trade_offs.measure)
    wanted: list[tuple[Rival, str | None]] = [("fastest", objected), ("fastest_allowed", allowed)]
    if safest.security < chosen.security:
        wanted.append(("safest", safest.cell))
    listed = [
        (rival, cell, trade_offs.measure)
        for rival, cell in wanted
        if cell is not None and cell != chosen.cell
    ]
    for dimension in trade_offs.dimensions:
        best = _best(trade_offs, dimension)
        if dimension == trade_offs.measure or best is None:
            continue
        if chosen.best.get(dimension, 1.0) < _HARDLY:
            listed.append(("elsewhere", best, dimension))
    return listed


def _best(trade_offs: TradeOffs, measure: str) -> str | None:
    """The cell most likely to be the best one; None with too few blocks."""
    likely = [cell for cell in trade_offs.cells if measure in cell.best]
    return max(likely, key=lambda cell: cell.best[measure]).cell if likely else None
