"""Settings of servers on OpenSSL, in its own names."""

from collections.abc import Iterable, Sequence

from tlslab.domain.names import OBSOLETE_SUITES, SUITES, find_group, find_suite

# All suites of TLS 1.2: the client chooses one, so that the server's own order does not matter.
_ALL = "ALL:!aNULL:!eNULL"

# Below OpenSSL's level 1 nothing is refused for being weak.
_WEAK = ":@SECLEVEL=0"

# The minimum at Debian's security level.
SAFE_DH_BITS = 2048


def group_name(group: str) -> str:
    """OpenSSL's name of a group; an unknown name is passed on unchanged."""
    found = find_group(group)
    return found.openssl if found else group


def group_list(groups: Iterable[str]) -> str:
    """Groups in the syntax of `SSL_CTX_set1_groups_list`."""
    return ":".join(group_name(group) for group in groups)


def cipher_list(suites: Sequence[str], dh_bits: int | None) -> str:
    """The suites of TLS 1.2 among these, or all if there is none; weak ones only if requested."""
    wanted = [_openssl(suite) for suite in suites if "_WITH_" in suite or "-" in suite]
    return (":".join(wanted) or _ALL) + (_WEAK if is_weak(suites, dh_bits) else "")


def is_weak(suites: Sequence[str], dh_bits: int | None) -> bool:
    """Whether a requested setting is refused by OpenSSL at its usual security level."""
    small = dh_bits is not None and dh_bits < SAFE_DH_BITS
    return small or any(suite in OBSOLETE_SUITES for suite in suites)


def tls13_suites() -> str:
    """All suites of TLS 1.3, including those that OpenSSL leaves out by default."""
    return ":".join(suite.openssl for suite in SUITES if suite.tls == "1.3")


def _openssl(suite: str) -> str:
    found = find_suite(suite)
    return found.openssl if found else suite
