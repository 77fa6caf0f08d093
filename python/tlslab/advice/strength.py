"""The relative security of settings: by the policies first, then by their strength.

These criteria are applied in turn, each to settings that are equal by the earlier ones:

1. the worst grade that a policy gives;
2. groups: a hybrid with a post-quantum KEM before all others; suites: AEAD before CBC;
3. the number of policies that recommend the setting;
4. the strength in bits: of a group against classical computers, of a suite its cipher's key.
"""

from collections.abc import Sequence

from tlslab.advice.policy import GRADES
from tlslab.advice.setting_grade import Graded
from tlslab.domain.names import find_group, find_suite

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

Strength = tuple[int, int, int, int]


def strength(graded: Graded) -> Strength:
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
    return group is not None and "MLKEM" in group.name and not group.name.startswith("MLKEM")


def ranks(graded: Sequence[Graded]) -> list[int]:
    """The rank of each, 0 for the safest; equally safe ones share a rank."""
    found = [strength(each) for each in graded]
    levels = sorted(set(found))
    return [levels.index(each) for each in found]


def in_order(graded: Sequence[Graded]) -> list[Graded]:
    """The safest first; equally safe ones stay in their order."""
    return sorted(graded, key=strength)
