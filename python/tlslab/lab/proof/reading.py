"""From the user's files to the configurations of a proof.

The candidate is a file, the choice of a run, or the policies' default.
"""

import glob
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from tlslab.advice.emit import FORMS, Preference, offer_of
from tlslab.advice.policy import Policy
from tlslab.domain.configuration import BASELINE, CANDIDATE, Configuration, ServedCertificate
from tlslab.domain.errors import UsageError
from tlslab.domain.names import CERTIFICATE_KEYS
from tlslab.domain.wording import counted
from tlslab.lab.results import recommend
from tlslab.lab.store import RunFolder
from tlslab.servers.nginx_file import NginxSyntaxError, read_directives
from tlslab.servers.nginx_tls import NginxChoiceError, NginxTls, is_setting, tls_part, written

# The key of a certificate if no file determines it.
DEFAULT_KEY = "ecdsa-p256"

# A configuration with all its included files is far smaller.
LIMIT_BYTES = 4 << 20

_CURVES = {"secp256r1": "ecdsa-p256", "secp384r1": "ecdsa-p384", "secp521r1": "ecdsa-p521"}


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading a file.

    The option that names the file, the server block to take, and the keys of the lab's certificates
    if the file's certificates cannot be read.
    """

    option: str
    server_name: str | None = None
    keys: tuple[str, ...] = ()


def read_configuration(file: Path, name: str, how: ReadingOptions) -> Configuration:
    """The TLS part of an nginx file, or of the output of `nginx -T`. Raises UsageError."""
    try:
        directives = read_directives(_text(file, how.option), str(file), _loader(file.parent))
        part = tls_part(directives, how.server_name)
    except NginxSyntaxError as error:
        raise UsageError(
            f"{how.option}: {error}",
            "nginx -t says what is wrong; what nginx -T shows can be given as well",
        ) from None
    except NginxChoiceError as error:
        raise UsageError(f"{how.option} {file}: {error}", "name one by --server-name") from None
    return configuration(part, str(file), name, file.parent, how)


def configuration(
    part: NginxTls, source: str, name: str, folder: Path, how: ReadingOptions
) -> Configuration:
    """The TLS part of a server as a configuration; paths are relative to the folder."""
    certificates, notes = _certificates(part, folder, how)
    return Configuration(
        name=name,
        source=source,
        lines=tuple(_lines(part, folder, how.option)),
        certificates=certificates,
        http2=part.http2,
        notes=notes,
        ignored=part.ignored,
    )


def laid_over(candidate: Configuration, baseline: Configuration) -> Configuration:
    """The candidate in the form in which it takes effect in the baseline's server.

    Its settings replace the baseline's; all others stay. A whole server with its own certificates
    is returned unchanged.
    """
    if candidate.certificates:
        return candidate
    own = set(map(_set_by, candidate.lines))
    kept = tuple(line for line in baseline.lines if _set_by(line) not in own)
    notes = candidate.notes
    if kept:
        names = ", ".join(dict.fromkeys(" ".join(_set_by(line)) for line in kept))
        notes = (*notes, f"kept from the {BASELINE}: {names}")
    return replace(
        candidate,
        lines=(*candidate.lines, *kept),
        certificates=baseline.certificates,
        http2=candidate.http2 or baseline.http2,
        notes=notes,
    )


def _set_by(line: str) -> tuple[str, ...]:
    """The name of the setting on a line.

    Each command of `ssl_conf_command` is a setting of its own.
    """
    words = line.removesuffix(";").split()
    return tuple(words[: 2 if words[0] == "ssl_conf_command" else 1])


def with_default_certificate(found: Configuration, how: ReadingOptions) -> Configuration:
    """The configuration, with certificates of the lab's if it names none."""
    if found.certificates:
        return found
    keys = how.keys or (DEFAULT_KEY,)
    note = f"it names no certificate: the lab makes one with {' and '.join(keys)}"
    return replace(
        found,
        certificates=tuple(map(ServedCertificate, keys)),
        notes=(*found.notes, note),
    )


def _text(file: Path, option: str) -> str:
    try:
        if file.stat().st_size > LIMIT_BYTES:
            raise UsageError(
                f"{option} {file}: {counted(file.stat().st_size, 'byte')} are too many",
                "give the part with the server's TLS",
            )
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(
            f"{option} {file}: not a text in UTF-8", "give a configuration file of nginx"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{option} {file}: {error.strerror}", "give what nginx -T shows, or a file of it"
        ) from None


def _loader(folder: Path) -> "_Files":
    return _Files(folder)


@dataclass(frozen=True)
class _Files:
    """The files that an `include` names, as far as they can be read."""

    folder: Path

    def __call__(self, pattern: str) -> Mapping[str, str]:
        found = {}
        for name in sorted(glob.glob(str(self.folder / pattern))):
            path = Path(name)
            try:
                if path.is_file() and path.stat().st_size <= LIMIT_BYTES:
                    found[name] = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue  # It remains an `include` that was not followed, and is named as such.
        return found


def _lines(part: NginxTls, folder: Path, option: str) -> Iterator[str]:
    for each in part.settings:
        args = list(each.args)
        if each.name == "ssl_dhparam":
            path = folder / args[0]
            if not _readable(path):
                raise UsageError(
                    f"{option}: {path}: ssl_dhparam cannot be read",
                    "make it readable to you, or leave the line out: then no DHE suite is offered",
                )
            args = [str(path.resolve())]
        yield written(each.name, args)


def _certificates(
    part: NginxTls, folder: Path, how: ReadingOptions
) -> tuple[tuple[ServedCertificate, ...], tuple[str, ...]]:
    """The certificates to serve, and notes on them for the reader."""
    if not part.pairs:
        return (), ()
    served: list[ServedCertificate] = []
    notes: list[str] = []
    for number, (name, key_name) in enumerate(part.pairs):
        path, key_path = folder / name, folder / key_name
        kind = how.keys[number] if number < len(how.keys) else _key_of(path)
        if kind is None:
            raise UsageError(
                f"{how.option}: the certificate {path} cannot be read",
                "make it readable to you, or say which key it has: --key rsa-2048",
            )
        own = bool(key_name) and number >= len(how.keys) and _usable(key_path)
        if own:
            _check_path(str(path.resolve()), how.option)
            _check_path(str(key_path.resolve()), how.option)
            served.append(ServedCertificate(kind, str(path.resolve()), str(key_path.resolve())))
            continue
        if kind not in CERTIFICATE_KEYS:
            raise UsageError(
                f"{how.option}: the lab makes no certificate with {kind}, and the private key of "
                f"{path} cannot be read",
                f"known: --key {', '.join(CERTIFICATE_KEYS)}",
            )
        served.append(ServedCertificate(kind))
        notes.append(f"{name}: its private key cannot be read; the lab made one with {kind}")
    return tuple(served), tuple(notes)


def check_configurations(found: Sequence[Configuration]) -> None:
    """Refuses lines that no proof accepts: configurations may come from a file.

    Raises UsageError.
    """
    for each in found:
        for line in each.lines:
            if not is_setting(line):
                raise UsageError(
                    f"the {each.name}: not a setting of TLS that a proof takes: {line}",
                    "give the configuration to `tlslab prove`, which says what it takes",
                )
        for served in each.certificates:
            _check_path(served.certificate, each.name)
            _check_path(served.private_key, each.name)


def _check_path(path: str, option: str) -> None:
    """Refuses a path that nginx would read as a variable. Raises UsageError."""
    if "$" in path or not path.isprintable():
        raise UsageError(
            f"{option}: nginx has no way to write this path down: {path!r}",
            "move the file to a folder without $ in its name, or link it from there",
        )


def _readable(path: Path) -> bool:
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False


def _usable(path: Path) -> bool:
    """Whether a private key can be read without a password."""
    try:
        serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError):
        return False
    return True


def _key_of(path: Path) -> str | None:
    """The key of a certificate in PEM, `rsa-4096`; None without one."""
    try:
        key = x509.load_pem_x509_certificate(path.read_bytes()).public_key()
    except (OSError, ValueError):
        return None
    if isinstance(key, rsa.RSAPublicKey):
        return f"rsa-{key.key_size}"
    if isinstance(key, ec.EllipticCurvePublicKey):
        return _CURVES.get(key.curve.name)
    if isinstance(key, ed25519.Ed25519PublicKey):
        return "ed25519"
    return "ed448" if isinstance(key, ed448.Ed448PublicKey) else None


def check_keys(keys: Sequence[str]) -> None:
    """Refuses keys that the lab cannot make. Raises UsageError."""
    for key in keys:
        if key not in CERTIFICATE_KEYS:
            raise UsageError(f"--key {key}: unknown", f"known: {', '.join(CERTIFICATE_KEYS)}")


# The key of the certificate that is added for new clients: the cheapest one to sign with among the
# keys that every current client verifies.
ADDED_KEY = "ecdsa-p256"

# It is added only beside keys of these kinds, which cost more to sign with.
_COSTLY = ("rsa-", "ecdsa-p384", "ecdsa-p521")


def candidate_of(
    given: Path | None, baseline: Configuration, policies: tuple[Policy, ...], how: ReadingOptions
) -> Configuration:
    """The candidate in the form in which the baseline's server would apply it.

    Raises UsageError.
    """
    if given is None:
        return _by_policies(baseline, policies)
    if os.path.isdir(given):
        return laid_over(_of_run(given, policies), baseline)
    return laid_over(read_configuration(given, CANDIDATE, how), baseline)


def with_key(found: Configuration, baseline: Configuration) -> Configuration:
    """The configuration with a certificate with ADDED_KEY in addition to its own.

    Clients that cannot use ADDED_KEY get the other certificate, so that no client is lost.
    """
    costly = [key for key in found.keys if key.startswith(_COSTLY)]
    if ADDED_KEY in found.keys or not costly:
        return found
    note = (
        f"a second certificate, with {ADDED_KEY}, made by the lab: yours has to come from your "
        f"authority (--keep-certificate compares without it)"
    )
    kept = tuple(each for each in found.certificates if each.key.startswith("rsa-"))
    return replace(
        found,
        certificates=(ServedCertificate(ADDED_KEY), *kept),
        notes=(*found.notes, note),
    )


def _by_policies(baseline: Configuration, policies: tuple[Policy, ...]) -> Configuration:
    nothing = Preference("suite", "", ())
    text = "\n".join(FORMS["nginx"].lines(offer_of(nothing, policies, "nginx")))
    source = "the default of the policies: all that none objects to, the safest first; not measured"
    return laid_over(_of_text(text, source), baseline)


def _of_run(given: Path, policies: tuple[Policy, ...]) -> Configuration:
    found = recommend(RunFolder.open(given), "throughput", policies, "nginx")
    form = FORMS["nginx"]
    command = f"tlslab recommend {shlex.quote(str(given))} --for nginx"
    if found is None:
        raise UsageError(
            f"--candidate {given}: nothing in this run may be recommended",
            f"`{command}` says why",
        )
    text = form.text(offer_of(found.preference, policies, "nginx"), ())
    assert text is not None  # nginx has settings for suites and for groups.
    return _of_text(text, command)


def _of_text(text: str, source: str) -> Configuration:
    part = tls_part(read_directives(text, source, lambda pattern: {}))
    how = ReadingOptions("--candidate")
    return configuration(part, source, CANDIDATE, Path(), how)
