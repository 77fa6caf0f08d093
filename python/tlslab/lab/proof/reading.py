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
from tlslab.servers.registry import MANAGED
from tlslab.servers.tls_part import ChoiceError, ConfigurationSyntaxError, Syntax, TlsPart

# The key of a certificate if no file determines it.
DEFAULT_KEY = "ecdsa-p256"

# A configuration with all its included files is far smaller.
LIMIT_BYTES = 4 << 20

# HAProxy's files beside a certificate, in a folder of certificates.
_BESIDE = (".dh", ".issuer", ".key", ".ocsp", ".sctl")

_CURVES = {"secp256r1": "ecdsa-p256", "secp384r1": "ecdsa-p384", "secp521r1": "ecdsa-p521"}


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading a file.

    The option that names the file, its syntax, the server to take, and the keys of the lab's
    certificates if the file's certificates cannot be read.
    """

    option: str
    syntax: Syntax
    server_name: str | None = None
    keys: tuple[str, ...] = ()


def syntax_of(server: str) -> Syntax:
    """The syntax of a managed server's files. Raises UsageError."""
    kind = MANAGED.get(server)
    if kind is None or kind.syntax is None:
        known = ", ".join(each.name for each in MANAGED.values() if each.syntax is not None)
        raise UsageError(f"no file of {server} is read", f"known: {known}")
    return kind.syntax


def read_configuration(file: Path, name: str, how: ReadingOptions) -> Configuration:
    """The TLS part of a server's file, or of what its program shows. Raises UsageError."""
    syntax = how.syntax
    try:
        directives = syntax.read(_text(file, how), str(file), _Files(file.parent))
        part = syntax.part(directives, how.server_name)
    except ConfigurationSyntaxError as error:
        raise UsageError(
            f"{how.option}: {error}",
            f"`{syntax.checks}` says what is wrong; {syntax.shown} can be given as well",
        ) from None
    except ChoiceError as error:
        raise UsageError(f"{how.option} {file}: {error}", error.remedy) from None
    if not syntax.rows.knows_any(directives):
        raise UsageError(
            f"{how.option} {file}: no setting of TLS for {syntax.server} is in it",
            f"give {syntax.shown}, or a file with its settings",
        )
    return configuration(part, str(file), name, file.parent, how)


def configuration(
    part: TlsPart, source: str, name: str, folder: Path, how: ReadingOptions
) -> Configuration:
    """The TLS part of a server as a configuration; paths are relative to the folder."""
    certificates, notes = _certificates(part, folder, how)
    http2 = part.http2
    if http2 is None:
        # A fragment leaves what it does not set.
        whole = name == BASELINE or bool(certificates)
        http2 = whole and MANAGED[how.syntax.server].http2_by_default
    return Configuration(
        name=name,
        source=source,
        lines=tuple(_lines(part, folder, how)),
        certificates=certificates,
        http2=http2,
        notes=notes,
        ignored=part.ignored,
        unread=part.unread,
    )


def laid_over(candidate: Configuration, baseline: Configuration, syntax: Syntax) -> Configuration:
    """The candidate in the form in which it takes effect in the baseline's server.

    Its settings replace the baseline's; all others stay. A whole server with its own certificates
    is returned unchanged.
    """
    if candidate.certificates:
        return candidate
    own = {syntax.setting(syntax.words(line)) for line in candidate.lines}
    kept = {
        line: setting
        for line in baseline.lines
        if (setting := syntax.setting(syntax.words(line))) not in own
    }
    notes = candidate.notes
    if kept:
        names = ", ".join(dict.fromkeys(map(" ".join, kept.values())))
        notes = (*notes, f"kept from the {BASELINE}: {names}")
    return replace(
        candidate,
        lines=(*candidate.lines, *kept),
        certificates=baseline.certificates,
        http2=candidate.http2 or baseline.http2,
        notes=notes,
    )


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


def _text(file: Path, how: ReadingOptions) -> str:
    option, syntax = how.option, how.syntax
    try:
        if file.stat().st_size > LIMIT_BYTES:
            raise UsageError(
                f"{option} {file}: {counted(file.stat().st_size, 'byte')} are too many",
                "give the part with the server's TLS",
            )
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(
            f"{option} {file}: not a text in UTF-8", f"give a configuration file of {syntax.server}"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{option} {file}: {error.strerror}",
            f"give {syntax.shown}, or a file that you may read",
        ) from None


@dataclass(frozen=True)
class _Files:
    """The files that an `include` names; None for what cannot be read."""

    folder: Path

    def __call__(self, pattern: str) -> Mapping[str, str | None]:
        whole = str(self.folder / pattern)
        found = {name: self._text(Path(name)) for name in sorted(glob.glob(whole))}
        return found if found or self._has_none(whole) else {whole: None}

    @staticmethod
    def _text(path: Path) -> str | None:
        try:
            # A pipe would be read without end.
            small = path.is_file() and path.stat().st_size <= LIMIT_BYTES
            return path.read_text("utf-8") if small else None
        except (OSError, UnicodeDecodeError):
            return None

    @staticmethod
    def _has_none(pattern: str) -> bool:
        """Whether no file has this name, as far as folders can be read."""
        several, folder = glob.has_magic(pattern), os.path.dirname(pattern)
        for place in (glob.glob(folder) or [folder]) if several else [pattern]:
            try:
                if several:
                    os.listdir(place)
                else:
                    os.stat(place)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                return False
        return True


def _lines(part: TlsPart, folder: Path, how: ReadingOptions) -> Iterator[str]:
    for each in part.settings:
        args = list(each.args)
        if each.name in how.syntax.rows.files:
            path = folder / args[0]
            if not _readable(path):
                raise UsageError(
                    f"{how.option}: {path}: {each.name} cannot be read",
                    "make it readable to you, or leave the line out: then no DHE suite is offered",
                )
            args = [str(path.absolute())]
        yield how.syntax.written(each.name, args)


def _certificates(
    part: TlsPart, folder: Path, how: ReadingOptions
) -> tuple[tuple[ServedCertificate, ...], tuple[str, ...]]:
    """The certificates to serve, and notes on them for the reader."""
    if not part.pairs:
        return (), ()
    served: list[ServedCertificate] = []
    notes: list[str] = []
    for number, (path, key_paths) in enumerate(_pairs(part, folder, len(how.keys))):
        kind = how.keys[number] if number < len(how.keys) else _key_of(path)
        if kind is None:
            raise UsageError(
                f"{how.option}: the certificate {path} cannot be read",
                "make it readable to you, or say which key it has: --key rsa-2048",
            )
        key_path = next(filter(_usable, key_paths), None)
        if key_path is not None and number >= len(how.keys):
            own = ServedCertificate(kind, str(path.absolute()), str(key_path.absolute()))
            _check_paths(own, how.option)
            served.append(own)
            continue
        if kind not in CERTIFICATE_KEYS:
            raise UsageError(
                f"{how.option}: the lab makes no certificate with {kind}, and the private key of "
                f"{path} cannot be read",
                f"known: --key {', '.join(CERTIFICATE_KEYS)}",
            )
        served.append(ServedCertificate(kind))
        notes.append(f"{path}: its private key cannot be read; the lab made one with {kind}")
    return tuple(served), tuple(notes)


def _pairs(part: TlsPart, folder: Path, named: int) -> list[tuple[Path, list[Path]]]:
    """Each certificate's file with those that may have its key; a folder stands for its files.

    A folder that cannot be read has as many certificates as `--key` names, `named` in all.
    """
    found: list[tuple[Path, list[Path]]] = []
    for name, keys in part.pairs:
        path = folder / name
        # `Path.is_dir` raises PermissionError for what is below a closed folder.
        if not os.path.isdir(path):
            found.append((path, [folder / key for key in keys]))
            continue
        try:
            files = sorted(path.iterdir())
        except OSError:
            found += [(path, [])] * max(1, named - len(found))
            continue
        for file in files:
            if os.path.isfile(file) and file.suffix not in _BESIDE:
                found.append((file, [file, Path(f"{file}.key")]))
    return found


def check_configurations(found: Sequence[Configuration], server: str) -> None:
    """Refuses lines that no proof accepts: configurations may come from a file.

    Raises UsageError.
    """
    for each in found:
        for line in each.lines:
            if not syntax_of(server).is_setting(line):
                raise UsageError(
                    f"the {each.name}: not a setting of TLS that a proof takes: {line}",
                    "give the configuration to `tlslab prove`, which says what it takes",
                )
        for served in each.certificates:
            _check_paths(served, each.name)


def _check_paths(served: ServedCertificate, option: str) -> None:
    """Refuses paths that a server would read as a variable. Raises UsageError."""
    for path in (served.certificate, served.private_key):
        if "$" in path or not path.isprintable():
            raise UsageError(
                f"{option}: a server's file has no way to write this path down: {path!r}",
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
        candidate = _by_policies(policies, how)
    elif os.path.isdir(given):
        candidate = _of_run(given, policies, how)
    else:
        candidate = read_configuration(given, CANDIDATE, how)
    return laid_over(candidate, baseline, how.syntax)


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


def _by_policies(policies: tuple[Policy, ...], how: ReadingOptions) -> Configuration:
    server = how.syntax.server
    text = "\n".join(FORMS[server].lines(offer_of(Preference("suite", "", ()), policies, server)))
    source = "the default of the policies: all that none objects to, the safest first; not measured"
    return _of_text(text, source, how)


def _of_run(given: Path, policies: tuple[Policy, ...], how: ReadingOptions) -> Configuration:
    server = how.syntax.server
    found = recommend(RunFolder.open(given), "throughput", policies, server)
    command = f"tlslab recommend {shlex.quote(str(given))} --for {server}"
    if found is None:
        raise UsageError(
            f"--candidate {given}: nothing in this run may be recommended",
            f"`{command}` says why",
        )
    text = FORMS[server].text(offer_of(found.preference, policies, server), ())
    assert text is not None  # All servers with a reader have settings for suites and for groups.
    return _of_text(text, command, how)


def _of_text(text: str, source: str, how: ReadingOptions) -> Configuration:
    part = how.syntax.part(how.syntax.read(text, source, lambda pattern: {}))
    return configuration(part, source, CANDIDATE, Path(), how)
