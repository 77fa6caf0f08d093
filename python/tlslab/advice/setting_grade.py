"""The security of suites and groups, by all policies that cover them: grades, and an order.

`strength` applies these criteria in turn, each to settings that are equal by the earlier ones:

1. the worst grade that a policy gives;
2. groups: a hybrid with a post-quantum KEM before all others; suites: AEAD before CBC;
3. the number of policies that recommend the setting;
4. the strength in bits: of a group against classical computers, of a suite its cipher's key.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tlslab.advice.policy import GRADES, Grade, Policy, policies
from tlslab.domain.grading import objects
from tlslab.domain.names import GROUPS, SUITES, find_group, find_suite

# What a server can be given a preference for.
Subject = Literal["suite", "group"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)


@dataclass(frozen=True)
class Opinion:
    """One policy's grade of one setting."""

    policy: Policy
    grade: Grade
    reason: str

    @property
    def words(self) -> str:
        """The policy with its date, and its reason."""
        return f"{self.policy.title} ({self.policy.date}): {self.reason}"


@dataclass(frozen=True)
class Graded:
    """A setting with all opinions; `name` is the suite's or the group's."""

    name: str
    opinions: tuple[Opinion, ...]

    @property
    def grade(self) -> Grade | None:
        """The worst opinion's grade; None if no policy covers the setting."""
        return max((o.grade for o in self.opinions), key=GRADES.index, default=None)

    @property
    def passes(self) -> bool:
        """Whether the setting may be recommended: a policy covers it, and none objects."""
        return bool(self.opinions) and not self.objections

    @property
    def disputed(self) -> bool:
        """Whether some policies object to the setting and others do not."""
        return 0 < len(self.objections) < len(self.opinions)

    @property
    def objections(self) -> tuple[Opinion, ...]:
        """The policies that object, the gravest first."""
        against = [opinion for opinion in self.opinions if objects(opinion.grade)]
        return tuple(sorted(against, key=lambda opinion: -GRADES.index(opinion.grade)))

    @property
    def against(self) -> str:
        """The objections in words, the gravest first; empty for none."""
        return "; ".join(self._words())

    @property
    def gravest(self) -> str:
        """The gravest objection alone; empty for none."""
        return (self._words() or [""])[0]

    @property
    def objection(self) -> str:
        """The gravest objection, and the number of the others; empty for none."""
        more = len(self._words()) - 1
        return self.gravest + (f" (and {more} more)" if more > 0 else "")

    def _words(self) -> list[str]:
        if not self.opinions:
            return ["no policy speaks of it"]
        return [opinion.words for opinion in self.objections]

    def by(self, policy: Policy) -> Opinion | None:
        """The opinion of this policy."""
        return next((o for o in self.opinions if o.policy.name == policy.name), None)


def grade_suite(
    name: str,
    http: str | None = None,
    dh_bits: int | None = None,
    by: Sequence[Policy] | None = None,
) -> Graded:
    """A suite, in this version of HTTP, with Diffie-Hellman parameters of this size.

    `by` are the policies that count; None for all.
    """
    opinions = []
    for policy in policies() if by is None else by:
        if policy.http not in (None, http):
            continue
        too_small = dh_bits is not None and policy.dh and policy.dh.covers(f"DH-{dh_bits}")
        if rule := policy.dh if too_small else policy.of("suite", name):
            opinions.append(Opinion(policy, rule.grade, rule.reason))
    return Graded(name, tuple(opinions))


def grade_group(name: str, by: Sequence[Policy] | None = None) -> Graded:
    """A key-exchange group, by all policies or by some of them."""
    ruled = [(policy, policy.of("group", name)) for policy in (policies() if by is None else by)]
    return Graded(
        name, tuple(Opinion(p, rule.grade, rule.reason) for p, rule in ruled if rule is not None)
    )


# NIST SP 800-57 part 1 revision 5, table 2, for curves and primes; RFC 7748 for X25519 and X448;
# for a KEM the strength of the block cipher that defines its category (FIPS 203, section 8).
GROUP_BITS = {
    "X25519": 128,
    "P-256": 128,
    "P-384": 192,
    "P-521": 256,
    "X448": 224,
    "X25519MLKEM768": 192,
    "SecP256r1MLKEM768": 192,
    "SecP384r1MLKEM1024": 256,
    "MLKEM768": 192,
    "ffdhe2048": 112,
    "ffdhe3072": 128,
    "ffdhe4096": 152,
}

_AEAD = ("_GCM_", "_CCM", "_POLY1305_")


def strength(graded: Graded) -> tuple[int, int, int, int]:
    """The criteria as numbers, less is safer; for a suite or a group."""
    grade = len(GRADES) if graded.grade is None else GRADES.index(graded.grade)
    recommending = sum(opinion.grade == "recommended" for opinion in graded.opinions)
    suite = find_suite(graded.name)
    if suite is not None:
        weak = not any(mark in suite.name for mark in _AEAD)
        return grade, int(weak), -recommending, -suite.bits
    bits = GROUP_BITS.get(graded.name, 0)
    return grade, int(not is_pq_hybrid(graded.name)), -recommending, -bits


def is_pq_hybrid(name: str) -> bool:
    """Whether a group combines a curve and a KEM, so that an attacker would have to break both."""
    group = find_group(name)
    return group is not None and group.is_pq_hybrid


def ranks(graded: Sequence[Graded]) -> list[int]:
    """The rank of each, 0 for the safest; equally safe ones share a rank."""
    strengths = list(map(strength, graded))
    levels = sorted(set(strengths))
    return [levels.index(criteria) for criteria in strengths]


def unmeasured_suites(tls: str, by: Sequence[Policy]) -> tuple[str, ...]:
    """The suites of a version that no policy objects to, over HTTP/2 as well; the safest first."""
    return _safest(grade_suite(suite.name, "2", by=by) for suite in SUITES if suite.tls == tls)


def unmeasured_groups(by: Sequence[Policy]) -> tuple[str, ...]:
    """The groups that no policy objects to, the safest first."""
    return _safest(grade_group(group.name, by) for group in GROUPS)


def _safest(graded: Iterable[Graded]) -> tuple[str, ...]:
    return tuple(each.name for each in sorted(graded, key=strength) if each.passes)
