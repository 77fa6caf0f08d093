"""Node.js: options of `https.createServer` and `http2.createSecureServer`."""

from tlslab.advice.emit.lines import (
    TLS13_SUITES,
    comment,
    heading,
    newer_groups,
    openssl_groups,
    openssl_suites,
)
from tlslab.advice.emit.offer import Offer, with_waiting
from tlslab.advice.preference import Preference

_BASE = ["minVersion: 'TLSv1.2',", "honorCipherOrder: true,"]


def emit(preference: Preference) -> str | None:
    """`ciphers` or `ecdhCurve`, as lines of an object."""
    lines = heading(preference, "//") + _BASE
    if preference.subject == "suite":
        suites = openssl_suites(preference)
        if not suites:
            return None
        # Node takes both versions' suites from one list; without a TLS 1.3 suite in it, TLS 1.3 is
        # off.
        lines += comment("The first three are those of TLS 1.3; without them it is off.", "//")
        lines.append("ciphers: [")
        lines += [f"  '{name}'," for name in (*TLS13_SUITES, *suites)]
        lines.append("].join(':'),")
        return "\n".join(lines) + "\n"
    groups = openssl_groups(preference, "node")
    if not groups:
        return None
    lines.append(f"ecdhCurve: '{':'.join(groups)}',")
    lines += newer_groups(preference, groups, "ecdhCurve: '{}',", "//")
    return "\n".join(lines) + "\n"


def whole(offer: Offer) -> list[str]:
    """A module that exports options: `createSecureServer({...require('./FILE'), key, cert})`."""
    lines = [f"minVersion: 'TLSv{offer.versions[0]}',", f"maxVersion: 'TLSv{offer.versions[-1]}',"]
    lines += ["honorCipherOrder: true,", "ciphers: ["]
    lines += [f"  '{suite.openssl}'," for suite in (*offer.suites13, *offer.suites12)]
    lines.append("].join(':'),")
    lines += with_waiting("ecdhCurve: '{}',", offer, "//")
    return ["module.exports = {", *(f"  {line}" for line in lines), "};"]
