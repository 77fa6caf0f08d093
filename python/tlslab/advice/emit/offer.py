"""A server's complete offer: versions, suites of both, groups; measured or by the policies."""

from dataclasses import dataclass

from tlslab.advice.emit.lines import WHOLE_ORDER, comment, is_hybrid, joined
from tlslab.advice.field import unmeasured_groups, unmeasured_suites
from tlslab.advice.policy import Policy
from tlslab.advice.preference import Preference
from tlslab.domain.names import Group, Suite, find_group, find_suite


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
        found = {"1.2": self.suites12, "1.3": self.suites13}
        return tuple(version for version, suites in found.items() if suites)

    @property
    def order_of_all(self) -> str:
        """What the order of `all_groups` is, in words."""
        if self.preference.subject == "group":
            return WHOLE_ORDER
        return "hybrids first, as the policies' safest; their cost was not measured in this run"

    @property
    def beside(self) -> str:
        """The parts that were not measured, in words."""
        names = {
            "suites of TLS 1.2": [suite.name for suite in self.suites12],
            "suites of TLS 1.3": [suite.name for suite in self.suites13],
            "groups": [group.name for group in self.groups],
        }
        known = set(self.preference.names)
        parts = [words for words, each in names.items() if each and not known & set(each)]
        if not parts:
            return ""
        named = " and ".join(parts)
        return (
            f"{named}, which this run did not measure: all that no policy objects to, the safest "
            "first."
        )


def offer_of(preference: Preference, policies: tuple[Policy, ...], server: str) -> Offer:
    """A server's offer by a preference, and by the policies if nothing was measured.

    Hybrid groups that this server was not seen to support wait, unless there is no other group: a
    name that its library does not know keeps a server from starting.
    """
    names = preference.names
    suites = [suite for name in names if (suite := find_suite(name)) is not None]
    by_version = {
        tls: [suite for suite in suites if suite.tls == tls]
        or [s for name in unmeasured_suites(tls, policies) if (s := find_suite(name)) is not None]
        for tls in ("1.2", "1.3")
    }
    wanted = names if preference.subject == "group" else unmeasured_groups(policies)
    groups = [group for name in wanted if (group := find_group(name)) is not None]
    seen = preference.subject == "group" and preference.server == server
    waiting = [group for group in groups if is_hybrid(group) and not seen]
    if len(waiting) == len(groups):
        waiting = []
    kept = tuple(group for group in groups if group not in waiting)
    if all(group.tls13_only for group in kept):
        by_version["1.2"] = []
    return Offer(
        preference=preference,
        suites12=tuple(by_version["1.2"]),
        suites13=tuple(by_version["1.3"]),
        groups=kept,
        waiting=tuple(waiting),
        all_groups=tuple(groups),
    )


def with_waiting(line: str, offer: Offer, mark: str) -> list[str]:
    """The line of groups (`{}`: the list), and a comment with hybrids for newer libraries."""
    lines = [line.format(joined(offer.groups))]
    if offer.waiting:
        lines += comment(f"With OpenSSL 3.5 or later, {offer.order_of_all}:", mark)
        lines.append(f"{mark} {line.format(joined(offer.all_groups))}")
    return lines
