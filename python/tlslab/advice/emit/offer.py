"""A server's complete offer: versions, suites of both, groups; measured or by the policies."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlslab.advice.policy import Policy
from tlslab.advice.setting_grade import Subject, unmeasured_groups, unmeasured_suites
from tlslab.domain.names import Group, Suite, find_group, find_suite


@dataclass(frozen=True)
class Preference:
    """The preferred suites or groups for a server, best first.

    `server`: the program on which they were measured. `equals`: the names that cannot be told apart
    from the first one by the measurement; `left_open`: by how much they may differ, in words.
    """

    subject: Subject
    server: str
    names: tuple[str, ...]
    equals: frozenset[str] = frozenset()
    left_open: str = ""


@dataclass(frozen=True)
class Offer:
    """The offer, best first.

    `waiting`: hybrid groups that exist only in newer libraries; if the server was seen to support
    them, they are part of `groups`. `all_groups` has both in one order. `preference`: the measured
    order; everything else is in the policies' order.
    """

    preference: Preference
    suites12: tuple[Suite, ...]
    suites13: tuple[Suite, ...]
    groups: tuple[Group, ...]
    waiting: tuple[Group, ...]
    all_groups: tuple[Group, ...]

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of TLS that have a suite, the older first."""
        by_version = {"1.2": self.suites12, "1.3": self.suites13}
        return tuple(version for version, suites in by_version.items() if suites)

    @property
    def order_of_all(self) -> str:
        """What the order of `all_groups` is, in words."""
        if self.preference.subject == "group":
            return "the whole order"
        return "hybrids first, as the policies' safest; their cost was not measured in this run"

    @property
    def beside(self) -> str:
        """The parts that were not measured, in words."""
        parts: dict[str, Sequence[Suite | Group]] = {
            "suites of TLS 1.2": self.suites12,
            "suites of TLS 1.3": self.suites13,
            "groups": self.groups,
        }
        known = set(self.preference.names)
        unmeasured = [
            words
            for words, part in parts.items()
            if part and not known & {setting.name for setting in part}
        ]
        if not unmeasured:
            return ""
        return (
            f"{' and '.join(unmeasured)}, which this run did not measure: all that no policy "
            "objects to, the safest first."
        )


def offer_of(preference: Preference, policies: tuple[Policy, ...], server: str) -> Offer:
    """A server's offer by a preference, and by the policies if nothing was measured.

    Hybrid groups that this server was not seen to support wait, unless there is no other group: a
    name that its library does not know keeps a server from starting.
    """
    names = preference.names
    measured = [suite for name in names if (suite := find_suite(name)) is not None]
    suites12, suites13 = (
        [suite for suite in measured if suite.tls == tls]
        or [s for name in unmeasured_suites(tls, policies) if (s := find_suite(name)) is not None]
        for tls in ("1.2", "1.3")
    )
    wanted = names if preference.subject == "group" else unmeasured_groups(policies)
    groups = [group for name in wanted if (group := find_group(name)) is not None]
    seen = preference.subject == "group" and preference.server == server
    # OpenSSL has KEMs since 3.5.
    waiting = [group for group in groups if "MLKEM" in group.name and not seen]
    if len(waiting) == len(groups):
        waiting = []
    kept = tuple(group for group in groups if group not in waiting)
    if all(group.tls13_only for group in kept):
        suites12 = []
    return Offer(
        preference=preference,
        suites12=tuple(suites12),
        suites13=tuple(suites13),
        groups=kept,
        waiting=tuple(waiting),
        all_groups=tuple(groups),
    )
