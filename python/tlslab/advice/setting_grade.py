"""The security of a setting, by all policies that cover it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tlslab.advice.policy import GRADES, Grade, Policy, policies

# A setting with a worse grade from any policy is never recommended, however fast it is.
BASELINE: Grade = "acceptable"


@dataclass(frozen=True)
class Opinion:
    """One policy's grade of one setting."""

    policy: Policy
    grade: Grade
    reason: str


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
        """Whether the setting may be recommended: no policy grades it below the baseline."""
        return self.grade is not None and _good(self.grade)

    @property
    def disputed(self) -> bool:
        """Whether some policies object to the setting and others do not."""
        return len({_good(opinion.grade) for opinion in self.opinions}) > 1

    @property
    def against(self) -> str:
        """The objections in words, the gravest first; empty for none."""
        return "; ".join(self._objections())

    @property
    def gravest(self) -> str:
        """The gravest objection alone; empty for none."""
        return (self._objections() or [""])[0]

    @property
    def objection(self) -> str:
        """The gravest objection, and the number of the others; empty for none."""
        more = len(self._objections()) - 1
        return self.gravest + (f" (and {more} more)" if more > 0 else "")

    def _objections(self) -> list[str]:
        if self.grade is None:
            return ["no policy speaks of it"]
        found = [opinion for opinion in self.opinions if not _good(opinion.grade)]
        found.sort(key=lambda opinion: -GRADES.index(opinion.grade))
        return [f"{o.policy.title} ({o.policy.date}): {o.reason}" for o in found]

    def by(self, policy: Policy) -> Opinion | None:
        """The opinion of this policy."""
        return next((o for o in self.opinions if o.policy.name == policy.name), None)


def _good(grade: Grade) -> bool:
    return GRADES.index(grade) <= GRADES.index(BASELINE)


def grade_suite(
    name: str,
    http: str | None = None,
    dh_bits: int | None = None,
    by: Sequence[Policy] | None = None,
) -> Graded:
    """A suite, in this version of HTTP, with Diffie-Hellman parameters of this size.

    `by` are the policies that count; None for all.
    """
    return Graded(name, tuple(_suite_opinions(name, http, dh_bits, by)))


def grade_group(name: str, by: Sequence[Policy] | None = None) -> Graded:
    """A key-exchange group, by all policies or by some of them."""
    return Graded(
        name,
        tuple(
            Opinion(policy, rule.grade, rule.reason)
            for policy in (policies() if by is None else by)
            if (rule := policy.of_group(name)) is not None
        ),
    )


def _suite_opinions(
    name: str, http: str | None, dh_bits: int | None, by: Sequence[Policy] | None
) -> Iterable[Opinion]:
    for policy in policies() if by is None else by:
        if policy.http not in (None, http):
            continue
        if dh_bits is not None and dh_bits < (policy.least_dh_bits or 0):
            yield Opinion(policy, "forbidden", policy.dh_reason)
        elif (rule := policy.of_suite(name)) is not None:
            yield Opinion(policy, rule.grade, rule.reason)
