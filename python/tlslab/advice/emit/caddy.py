"""Caddy: lines of the block of the directive `tls`, on Go's TLS library.

Go has no setting for the suites of TLS 1.3, and since 1.17 none for the order of any suites: it
chooses by the hardware support of processor and client (go.dev/blog/tls-cipher-suites). The lists
determine what is offered.
"""

from tlslab.advice.emit.offer import Offer
from tlslab.advice.emit.rows import comment
from tlslab.domain.names import Group

# Caddy's names of Go's groups (caddyserver.com/docs/caddyfile/directives/tls).
_CURVES = {
    "X25519": "x25519",
    "P-256": "secp256r1",
    "P-384": "secp384r1",
    "P-521": "secp521r1",
    "X25519MLKEM768": "x25519mlkem768",
}

# The TLS 1.2 suites of crypto/tls, as far as a policy may pass them.
_SUITES12 = tuple(
    f"TLS_ECDHE_{key}_WITH_{cipher}"
    for key in ("ECDSA", "RSA")
    for cipher in (
        "AES_128_GCM_SHA256",
        "AES_256_GCM_SHA384",
        "CHACHA20_POLY1305_SHA256",
        "AES_128_CBC_SHA",
        "AES_256_CBC_SHA",
    )
)

# Its suites of TLS 1.3, which are always offered.
_SUITES13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")


def lines(offer: Offer) -> list[str]:
    """Subdirectives of `tls`: `tls CERT KEY { import FILE }`."""
    versions = dict.fromkeys(f"tls{offer.versions[end]}" for end in (0, -1))
    text = [f"protocols {' '.join(versions)}"]
    suites = [suite.name for suite in offer.suites12 if suite.name in _SUITES12]
    if suites:
        text.append(f"ciphers {' '.join(suites)}")
    text.append(f"curves {_curves(offer.groups)}")
    if _curves(offer.waiting):
        text += comment(f"With Caddy 2.10 or later, {offer.order_of_all}:", "#")
        text.append(f"# curves {_curves(offer.all_groups)}")
    offered = [suite.name for suite in offer.suites13]
    if offered and (more := [name for name in _SUITES13 if name not in offered]):
        text += comment(f"Go offers {', '.join(more)} as well, and has no setting for it.", "#")
    if lacking := [group.name for group in offer.groups if group.name not in _CURVES]:
        text += comment(f"Go does not have: {', '.join(lacking)}.", "#")
    return text


def _curves(groups: tuple[Group, ...]) -> str:
    return " ".join(_CURVES[group.name] for group in groups if group.name in _CURVES)
