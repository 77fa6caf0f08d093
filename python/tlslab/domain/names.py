"""The names that TLS gives to things, as experiment files and records use them.

The engine has the same names (crates/wire/src/names); a test compares the two by the JSON Schema
of the run specification. Aliases are those of the RFCs and of OpenSSL.
"""

import re
from dataclasses import dataclass

TLS_VERSIONS = ("1.2", "1.3")

# The level of the factor `tls` for HTTP in the clear: the baseline of what TLS costs.
NO_TLS = "none"

# Obsolete names that the engine has only with `allow_obsolete`; no experiment varies them.
OBSOLETE_TLS_VERSIONS = ("ssl3", "1.0", "1.1")
OBSOLETE_KEYS = ("rsa-1024",)
OBSOLETE_SUITES = (
    "TLS_RSA_WITH_RC4_128_MD5",
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
)


@dataclass(frozen=True)
class Group:
    """A key-exchange group (IANA "TLS Supported Groups").

    `bits` is the size that ab prints as the server's temporary key: the curve's field or the prime,
    in bits; for a KEM the size of its public key. `openssl` is the name that OpenSSL's group list
    takes. `is_pq_hybrid`: it combines a curve and a KEM, so that an attacker would have to break
    both.
    """

    name: str
    bits: int
    openssl: str
    tls13_only: bool = False
    aliases: tuple[str, ...] = ()
    is_pq_hybrid: bool = False


GROUPS = (
    Group("X25519", 253, "X25519"),
    Group("P-256", 256, "prime256v1", aliases=("secp256r1", "prime256v1", "P256")),
    Group("P-384", 384, "secp384r1", aliases=("secp384r1", "P384")),
    Group("P-521", 521, "secp521r1", aliases=("secp521r1", "P521")),
    Group("X448", 448, "X448"),
    Group("X25519MLKEM768", 9728, "X25519MLKEM768", tls13_only=True, is_pq_hybrid=True),
    Group("SecP256r1MLKEM768", 9992, "SecP256r1MLKEM768", tls13_only=True, is_pq_hybrid=True),
    Group("SecP384r1MLKEM1024", 13320, "SecP384r1MLKEM1024", tls13_only=True, is_pq_hybrid=True),
    Group("MLKEM768", 9472, "MLKEM768", tls13_only=True),
    Group("ffdhe2048", 2048, "ffdhe2048", tls13_only=True),
    Group("ffdhe3072", 3072, "ffdhe3072", tls13_only=True),
    Group("ffdhe4096", 4096, "ffdhe4096", tls13_only=True),
)


@dataclass(frozen=True)
class Suite:
    """A cipher suite: IANA's name, OpenSSL's name, bits of its cipher's key."""

    name: str
    openssl: str
    bits: int

    @property
    def tls(self) -> str:
        """The version that the suite belongs to: TLS 1.3 suites name no key exchange."""
        return "1.2" if "_WITH_" in self.name else "1.3"


def _tls12(exchange: str, openssl_prefix: str, ciphers: tuple[str, ...]) -> tuple[Suite, ...]:
    """The suites of one TLS 1.2 key exchange; a cipher's IANA part is `AES_128_GCM_SHA256`."""
    suites = []
    for cipher in ciphers:
        parts = (
            cipher.replace("AES_", "AES")
            .replace("_CBC", "")
            .replace("_POLY1305_SHA256", "_POLY1305")
        )
        openssl = openssl_prefix + parts.replace("_", "-")
        bits = 128 if "128" in cipher.split("SHA")[0] else 256
        suites.append(Suite(f"TLS_{exchange}_WITH_{cipher}", openssl, bits))
    return tuple(suites)


_CBC_SHA1 = ("AES_128_CBC_SHA", "AES_256_CBC_SHA")
_GCM = ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384")
_CCM = ("AES_128_CCM", "AES_256_CCM")
_CHACHA = ("CHACHA20_POLY1305_SHA256",)
_ECDHE_CBC_SHA2 = ("AES_128_CBC_SHA256", "AES_256_CBC_SHA384")
_RSA_CBC_SHA2 = ("AES_128_CBC_SHA256", "AES_256_CBC_SHA256")

SUITES = (
    Suite("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", 128),
    Suite("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", 256),
    Suite("TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", 256),
    Suite("TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_SHA256", 128),
    *_tls12("ECDHE_ECDSA", "ECDHE-ECDSA-", _CBC_SHA1 + _ECDHE_CBC_SHA2 + _GCM + _CCM + _CHACHA),
    *_tls12("ECDHE_RSA", "ECDHE-RSA-", _CBC_SHA1 + _ECDHE_CBC_SHA2 + _GCM + _CHACHA),
    *_tls12("DHE_RSA", "DHE-RSA-", _CBC_SHA1 + _RSA_CBC_SHA2 + _GCM + _CCM + _CHACHA),
    *_tls12("RSA", "", _CBC_SHA1 + _RSA_CBC_SHA2 + _GCM + _CCM),
)

ECDSA_SCHEMES = (
    "ecdsa_secp256r1_sha256",
    "ecdsa_secp384r1_sha384",
    "ecdsa_secp521r1_sha512",
)
_RSA_PSS = ("rsa_pss_rsae_sha256", "rsa_pss_rsae_sha384", "rsa_pss_rsae_sha512")
_RSA_PKCS1 = ("rsa_pkcs1_sha256", "rsa_pkcs1_sha384", "rsa_pkcs1_sha512")
RSA_SCHEMES = (*_RSA_PSS, *_RSA_PKCS1)
SIGNATURE_SCHEMES = (
    *ECDSA_SCHEMES,
    "ed25519",
    "ed448",
    *_RSA_PSS,
    "rsa_pss_pss_sha256",
    "rsa_pss_pss_sha384",
    "rsa_pss_pss_sha512",
    *_RSA_PKCS1,
    "ecdsa_sha1",
    "rsa_pkcs1_sha1",
    "mldsa44",
    "mldsa65",
    "mldsa87",
)

CERTIFICATE_KEYS = (
    "ecdsa-p256",
    "ecdsa-p384",
    "ecdsa-p521",
    "ed25519",
    "rsa-2048",
    "rsa-3072",
    "rsa-4096",
)


# The client's TLS libraries.
BACKENDS = ("rustls", "openssl")

# Keys of a server that the lab did not set up, beyond those that the lab can make.
_OTHER_KEY = re.compile(r"rsa-[0-9]{3,5}|other-[a-z0-9-]{1,40}")


def is_key(level: str) -> bool:
    """Whether a name is that of a certificate key, whether the lab can make such a key or not."""
    return level in CERTIFICATE_KEYS or _OTHER_KEY.fullmatch(level) is not None


def find_group(name: str) -> Group | None:
    """The group of that name or alias, letter case aside; None when there is none."""
    wanted = name.casefold()
    for group in GROUPS:
        if wanted in {known.casefold() for known in (group.name, group.openssl, *group.aliases)}:
            return group
    return None


def find_suite(name: str) -> Suite | None:
    """The suite of that IANA or OpenSSL name, letter case aside; None when there is none."""
    wanted = name.casefold()
    for suite in SUITES:
        if wanted in (suite.name.casefold(), suite.openssl.casefold()):
            return suite
    return None
