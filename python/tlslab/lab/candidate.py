"""The candidate of a proof: a file, the choice of a run, or the policies' default."""

import os
import shlex
from dataclasses import replace
from pathlib import Path

from tlslab.advice.emit import FORMS, Preference, offer_of
from tlslab.advice.policy import Policy
from tlslab.domain.configuration import CANDIDATE, Configuration, ServedCertificate
from tlslab.domain.errors import UsageError
from tlslab.lab.proof.reading import Reading, configuration, laid_over, read_configuration
from tlslab.lab.results import recommend
from tlslab.lab.store import RunFolder
from tlslab.servers.nginx_file import read_directives
from tlslab.servers.nginx_tls import tls_part

# The key of the certificate that is added for new clients: the cheapest one to sign with among the
# keys that every current client verifies.
KEY = "ecdsa-p256"

# A certificate with KEY is added only beside keys of these kinds, which cost more to sign with.
_COSTLY = ("rsa-", "ecdsa-p384", "ecdsa-p521")


def candidate_of(
    given: Path | None, baseline: Configuration, policies: tuple[Policy, ...], how: Reading
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
    """The configuration with a certificate with KEY in addition to its own.

    Clients that cannot use KEY get the other certificate, so that no client is lost.
    """
    costly = [key for key in found.keys if key.startswith(_COSTLY)]
    if KEY in found.keys or not costly:
        return found
    note = (
        f"a second certificate, with {KEY}, made by the lab: yours has to come from your authority "
        f"(--keep-certificate compares without it)"
    )
    kept = tuple(each for each in found.certificates if each.key.startswith("rsa-"))
    return replace(
        found,
        certificates=(ServedCertificate(KEY), *kept),
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
    how = Reading("--candidate")
    return configuration(part, source, CANDIDATE, Path(), how)
