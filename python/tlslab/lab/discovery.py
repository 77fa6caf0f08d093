"""Discovery of a server that the lab did not start, by single verified connections."""

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from tlslab.lab.generators import GeneratorPool
from tlslab.lab.served_key import key_level
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.lab.trial import UNSUPPORTED_PREFIXES
from tlslab.model.errors import EngineError
from tlslab.model.experiment import Experiment, Factor
from tlslab.model.handshake import Preflight
from tlslab.model.names import ECDSA_SCHEMES, RSA_SCHEMES
from tlslab.model.profile import Profile
from tlslab.model.run import TargetInfo
from tlslab.model.workload import Workload

# The kinds of certificates that a server may choose from, and the schemes of each.
FAMILIES = {"ecdsa": ECDSA_SCHEMES, "rsa": RSA_SCHEMES}


@dataclass(frozen=True)
class Discovered:
    """An external server: its description, the experiment fitted to it, the levels it lacks."""

    info: TargetInfo
    experiment: Experiment
    unavailable: dict[tuple[str, str], str]

    def reconfigured(self, factors: frozenset[str], experiment: Experiment) -> "Discovered":
        """The findings that remain valid if a command configures the server for these factors."""
        kept = {key: why for key, why in self.unavailable.items() if key[0] not in factors}
        fitted = experiment if "key" in factors else self.experiment
        return replace(self, experiment=fitted, unavailable=kept)


def discover(engine: GeneratorPool, aim: Aim, experiment: Experiment) -> Discovered:
    """Finds the versions and certificate kinds of a server.

    The levels of the factor `key` become those served: a server with an ECDSA P-384 certificate is
    measured with `ecdsa-p384`, whatever the experiment says. Raises EngineError if the server
    cannot be reached, does not pass verification, or answers with an error.
    """
    workload = experiment.workload
    try:
        first, _ = engine.preflight(preflight_spec(aim, Profile(), workload.http))
    except EngineError as error:
        raise with_status_remedy(error) from None
    levels = {factor.name: factor.levels for factor in experiment.factors}
    unavailable: dict[tuple[str, str], str] = {}
    found = _served(engine, aim, workload, levels.get("tls", ()), unavailable)
    served = tuple(dict.fromkeys(found)) or (key_level(first),)
    if "key" in levels:
        for level in levels["key"]:
            if level not in served:
                unavailable["key", level] = f"the server serves {', '.join(served)}, not {level}"
        others = tuple(level for level in levels["key"] if level not in served)
        experiment = _with_keys(experiment, served + others)
    return Discovered(_info(aim, first), experiment, unavailable)


def with_status_remedy(error: EngineError) -> EngineError:
    """The error with a remedy for the server's status."""
    found = re.search(r"status ([1-5][0-9]{2})", error.message)
    if error.class_ != "http_status" or found is None:
        return error
    status = found[1]
    ask = f"--expect-status {status} measures this answer"
    if status.startswith("3"):
        remedy = f"it redirects: give the URL that it leads to, or {ask}"
    elif status in ("401", "403"):
        remedy = f"it asks for a login: give a page that needs none, or {ask}"
    else:
        remedy = f"give the path of a page that is there, or {ask}"
    return EngineError(error.class_, error.message, remedy)


def _served(
    engine: GeneratorPool,
    aim: Aim,
    workload: Workload,
    versions: tuple[str, ...],
    unavailable: dict[tuple[str, str], str],
) -> list[str]:
    """The certificate keys served in any version.

    Versions without a certificate become unavailable.
    """
    served: list[str] = []
    for version in versions:
        keys = []
        words = ""
        for schemes in FAMILIES.values():
            profile = Profile(tls=version, signature_schemes=schemes)
            try:
                preflight, _ = engine.preflight(preflight_spec(aim, profile, workload.http))
                keys.append(key_level(preflight))
            except EngineError as error:
                if not error.class_.startswith(UNSUPPORTED_PREFIXES):
                    raise
                words = error.message
        if not keys:
            unavailable["tls", version] = f"the server has no TLS {version}: {words}"
        served += keys
    return served


def _with_keys(experiment: Experiment, keys: tuple[str, ...]) -> Experiment:
    factors = tuple(
        Factor("key", keys) if factor.name == "key" else factor for factor in experiment.factors
    )
    baseline = dict(experiment.baseline)
    if baseline.get("key", keys[0]) not in keys:
        baseline["key"] = keys[0]
    return replace(experiment, factors=factors, baseline=baseline)


def _info(aim: Aim, preflight: Preflight) -> TargetInfo:
    parts = urlsplit(aim.url)
    path = parts.path or "/"
    return TargetInfo(
        name=aim.url,
        managed=False,
        software=preflight.server or "unknown",
        backend="unknown",
        processors=(),
        host=parts.hostname or "",
        path=f"{path}?{parts.query}" if parts.query else path,
    )
