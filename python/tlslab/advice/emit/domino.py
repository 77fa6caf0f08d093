"""HCL Domino: notes.ini.

Domino takes the first group, in an order of its own, that the client supports and that is not
switched off (help.hcltechsw.com, Domino 12.0, "Two new curves supported for TLS 1.2 ciphers that
use ECDHE"). Therefore a group is preferred by switching off the groups that the measured order
places after it. Suites are chosen in Domino's server document.
"""

from tlslab.advice.emit.offer import Offer, Preference
from tlslab.advice.emit.rows import comment

# Domino's own order, with the names in its settings.
_SETTINGS = {
    "X25519": "SSL_DISABLE_CURVE_X25519",
    "P-256": "SSL_DISABLE_CURVE_P256",
    "X448": "SSL_DISABLE_CURVE_X448",
    "P-384": "SSL_DISABLE_CURVE_P384",
    "P-521": "SSL_DISABLE_CURVE_P521",
}

# The group of every client, which an ECDSA P-256 certificate also needs in TLS 1.2.
_FALLBACK = "P-256"


def lines(offer: Offer) -> list[str]:
    """`SSL_DISABLE_CURVE_*`; none without a group of Domino."""
    preference = offer.preference
    names = [name for name in preference.names if name in _SETTINGS]
    if not names:
        return []
    best = names[0]
    kept = {best} | (preference.equals & set(names) if best in preference.equals else set())
    text = comment(_explanation(preference, best, kept), ";")
    for name, setting in _SETTINGS.items():
        if name in kept:
            text.append(f";{setting}=1")
        elif name == _FALLBACK:
            text += _fallback(best, setting)
        else:
            if name not in preference.names:
                text += comment(f"{name} was not measured or not recommended:", ";")
            text.append(f"{setting}=1")
    return text


def _explanation(preference: Preference, best: str, kept: set[str]) -> str:
    text = (
        "Domino prefers X25519, P-256, X448, P-384, P-521 in this order, of those that are on: "
        f"what comes after {best} is switched off."
    )
    others = sorted(kept - {best})
    if others:
        text += f" It cannot be told apart from {', '.join(others)} ({preference.left_open})."
    return text + " Restart the server's tasks that use TLS (restart task http)."


def _fallback(best: str, setting: str) -> list[str]:
    """P-256 stays on behind a faster group, so that clients without that one can still connect."""
    order = list(_SETTINGS)
    if order.index(best) < order.index(_FALLBACK):
        words = "P-256 comes after it, and stays on for clients that have nothing better:"
        return [*comment(words, ";"), f";{setting}=1"]
    words = (
        f"Domino would prefer P-256 to {best}. Keep it on for old clients, or when the certificate "
        "is ECDSA P-256:"
    )
    return [*comment(words, ";"), f"{setting}=1"]
