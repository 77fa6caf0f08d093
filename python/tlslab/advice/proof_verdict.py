"""A proof with the changes for clients and under the policies, and the overall verdict.

The rule of the verdict: measurements first (analysis.proof). Whatever they say, the candidate is
not deployed if a wanted known client is lost, or if it offers something that a policy for every
server forbids and the baseline does not offer. If the offers are not wholly known, the candidate is
not deployed either. A client is wanted unless the user gives it up, or
unless it connected with something that a policy for every server forbids.

Except for what a policy forbids, such a verdict is a trade-off if something speaks for the
candidate; the sentence weighs nothing for the user.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from tlslab.advice.judge import judge
from tlslab.advice.offer import left_open, unanswered_words
from tlslab.advice.policy import Policy, all_policies
from tlslab.advice.simulate import LIMITS, clients, simulate
from tlslab.contract.probe import ProbeRecord
from tlslab.domain.configuration import BASELINE, CANDIDATE
from tlslab.domain.doubt import doubt_words
from tlslab.domain.figure import DataTable
from tlslab.domain.finding import Answer, Finding, Statement, Summary, Values
from tlslab.domain.grading import GradeFinding, Grading, Outcome, Topic
from tlslab.domain.proof import ClientChange, PolicyChange, Proof, RoundTrips, SeenTls
from tlslab.domain.wording import counted, few, joined

# The most lost clients that the verdict names itself; the sentence after it has the first of more.
_NAMED = 4


def proved(summary: Summary) -> Summary:
    """The summary of a proof with its clients, policies and final verdict.

    Other summaries are returned unchanged.
    """
    proof, found = summary.proof, summary.environment.found
    if proof is None or len(found) != 2:
        return summary
    day = date.fromisoformat(summary.environment.created[:10])
    before, after = (each.offered for each in found)
    if (doubt := _doubt(before, after)) is not None:
        return _doubted(summary, proof, doubt)
    changes = tuple(_changes(before, after, day, proof.settings.may_lose))
    gradings = judge(before, day), judge(after, day)
    forbidden = tuple(_forbidden(*gradings))
    proof = replace(
        proof, clients=changes, policies=_policies(*gradings), trips=_round_trips(*found)
    )
    if reasons := (*_lost(changes), *forbidden):
        proof = replace(proof, verdict="do_not", reasons=reasons)
    if proof.verdict == "do_not" and not forbidden:
        proof = replace(proof, trade_off=_has_for_it(proof))
    return replace(
        summary,
        proof=proof,
        answer=summary.answer and _answer(summary.answer, proof),
        tables=(*summary.tables, *_tables(proof)),
        findings=(*summary.findings, *(Finding("simulated", text) for text in LIMITS)),
    )


def _doubt(before: ProbeRecord, after: ProbeRecord) -> Values | None:
    """Why the two offers cannot be compared: whose offer is in doubt, and the doubt.

    None if they can be compared.

    A question that had no answer on both sides makes no difference between them.
    """
    sides = ((BASELINE, before, after), (CANDIDATE, after, before))
    for name, offered, other in sides:
        shared = {(each.topic, each.question) for each in left_open(other)}
        open_here = (e for e in left_open(offered) if (e.topic, e.question) not in shared)
        alone = [unanswered_words(each) for each in open_here]
        if words := doubt_words(offered.incomplete, alone):
            return {"configuration": name, "doubt": words}
    return None


def _doubted(summary: Summary, proof: Proof, doubt: Values) -> Summary:
    """The summary of a proof whose offers cannot be compared.

    Measurements alone can speak against the candidate, and nothing for it.
    """
    answer = summary.answer
    if answer is not None and answer.lacking is None:
        statements = (
            Statement("cannot_tell", doubt),
            Statement("measured_alone", {"verdict": proof.verdict}),
        )
        if proof.verdict == "do_not":
            statements = (Statement("decided"), Statement("offer_not_known", doubt))
        answer = replace(answer, statements=statements)
    return replace(
        summary,
        proof=replace(proof, verdict="do_not" if proof.verdict == "do_not" else "cannot_tell"),
        answer=answer,
        findings=(*summary.findings, Finding("not_known", values=doubt)),
    )


def _changes(
    before: ProbeRecord, after: ProbeRecord, day: date, may_lose: Sequence[str]
) -> Iterator[ClientChange]:
    for client in clients():
        first, second = simulate(before, client), simulate(after, client)
        excused = ""
        if client.name in may_lose:
            excused = "may stay away (--may-lose)"
        elif first.connects and (objection := _objection(first, day)):
            excused = objection
        yield ClientChange(client.name, first, second, wanted=not excused, excused=excused)


def _objection(outcome: Outcome, day: date) -> str:
    """The negotiated item that a policy for every server forbids, in words; empty for none."""
    things: tuple[tuple[Topic, str | None], ...] = (
        ("version", outcome.version),
        ("suite", outcome.suite),
        ("key", outcome.key),
    )
    for policy in all_policies():
        for topic, name in things:
            if policy.about.everyone and name is not None and _forbids(policy, topic, name, day):
                return f"{policy.about.title} forbids {name}"
    return ""


def _forbids(policy: Policy, topic: Topic, name: str, day: date) -> bool:
    rule = policy.of(topic, name)
    return rule is not None and rule.on(day) == "forbidden"


def _round_trips(before: SeenTls, after: SeenTls) -> RoundTrips:
    new, returning = (
        (before.round_trips(again), after.round_trips(again)) for again in (False, True)
    )
    return RoundTrips(new, returning)


def _has_for_it(proof: Proof) -> bool:
    """Whether the candidate gains by a deciding ratio, or takes fewer round trips."""
    gains = any(each.decides and each.direction == "gain" for each in proof.figures)
    return gains or (proof.trips is not None and proof.trips.saved)


def _lost(changes: Sequence[ClientChange]) -> Iterator[str]:
    names = [each.client for each in changes if each.lost and each.wanted]
    if names:
        lost = joined(names) if len(names) <= _NAMED else counted(len(names), "known client")
        yield f"it loses {lost} (`--may-lose` accepts that)"


def _forbidden(before: Grading, after: Grading) -> Iterator[str]:
    """For each policy for every server, the forbidden items that only the candidate offers.

    A policy that does not apply to the baseline's protocols forbids nothing of the baseline.
    """
    for source in after.policies:
        had = {_thing(each) for each in _forbidden_by(source.name, before)}
        new = [each for each in _forbidden_by(source.name, after) if _thing(each) not in had]
        if source.everyone and new:
            yield f"it offers what {source.title} forbids: {few([each.name for each in new])}"


def _forbidden_by(policy: str, grading: Grading) -> list[GradeFinding]:
    return [
        each
        for each in grading.found
        if any(said.policy == policy and said.grade == "forbidden" for said in each.judgements)
    ]


def _thing(found: GradeFinding) -> tuple[Topic, str]:
    """The key by which two items are the same; all certificate lifetimes have one key."""
    return found.topic, "" if found.topic == "lifetime" else found.name


def _policies(before: Grading, after: Grading) -> tuple[PolicyChange, ...]:
    objections = [
        {v.policy: v.forbidden + v.discouraged for v in grading.verdicts}
        for grading in (before, after)
    ]
    shared = [source for source in after.policies if source.name in objections[0]]
    return tuple(
        PolicyChange(source.title, objections[0][source.name], objections[1][source.name])
        for source in shared
    )


def _answer(answer: Answer, proof: Proof) -> Answer:
    """The answer with the clients; reasons against the candidate hold however short the run was."""
    if answer.lacking is not None and not proof.reasons:
        return answer
    return replace(
        answer, statements=(Statement("decided"), Statement("for_clients")), lacking=None
    )


def _tables(proof: Proof) -> tuple[DataTable, ...]:
    clients_table = DataTable(
        id="clients",
        title="What changes for known clients",
        caption="",
        columns=("clients", "before", "after"),
        rows=tuple(_grouped([each for each in proof.clients if each.differs])),
    )
    policies_table = DataTable(
        id="policies",
        title="What policies object to",
        caption="",
        columns=("policy", "before", "after"),
        rows=tuple((each.policy, each.before, each.after) for each in proof.policies),
    )
    return clients_table, policies_table


def _meets(outcome: Outcome) -> str:
    if not outcome.connects:
        return f"no connection: {outcome.reason}"
    parts = [f"TLS {outcome.version}", outcome.suite, outcome.group, outcome.key, *outcome.notes]
    return ", ".join(part for part in parts if part)


def _grouped(changed: Sequence[ClientChange]) -> Iterator[tuple[str, str, str]]:
    """Clients with the same change in one row, the lost ones first."""
    rows: dict[tuple[str, str], list[str]] = {}
    for each in sorted(changed, key=lambda each: (not each.lost, not each.won)):
        excused = f"; {each.excused}" if each.lost and each.excused else ""
        rows.setdefault((_meets(each.before), _meets(each.after) + excused), []).append(each.client)
    for (before, after), names in rows.items():
        yield ", ".join(names), before, after
