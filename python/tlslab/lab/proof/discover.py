"""Discovery of each configuration: its behaviour with the measured client, and its complete offer.

The probe finds a configuration's offer. The known client is simulated with that offer, and one
verified connection with the client's suites and signature schemes shows the server's choice. Each
cell forces that choice, so that every connection of the run is compared with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from tlslab.advice.offer import chain_fault, offer_doubt, schemes_of, spoken, suites_of
from tlslab.advice.simulate import Client, clients, simulate
from tlslab.contract.probe import Named, ProbeRecord
from tlslab.contract.record import Facts
from tlslab.domain.command_line import did_you_mean
from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.domain.grading import Outcome
from tlslab.domain.names import SIGNATURE_SCHEMES, TLS_VERSIONS, find_group, find_suite
from tlslab.domain.plan import Cell
from tlslab.domain.profile import Profile
from tlslab.domain.proof import SeenTls
from tlslab.domain.proof_settings import RETURNING
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.probing import SCHEMA
from tlslab.lab.specs import Aim, preflight_spec, trust_spec
from tlslab.lab.trial import NOT_RESUMED

# The ways in which a version can resume sessions, the usual way first.
_WAYS = {"1.3": ("psk",), "1.2": ("ticket", "id")}

# How often a full handshake in place of a resumed one is seen before it counts as the server's: one
# address may have several servers.
_ASKED = 2

# The simulation's words for a client without a key share for the group that the server takes.
_RETRY = "HelloRetryRequest"


def client_named(name: str) -> Client:
    """The known client with this name. Raises UsageError."""
    known = [each.name for each in clients()]
    for each in clients():
        if each.name.casefold() == name.casefold():
            return each
    remedy = did_you_mean(name, known) or f"known: {', '.join(known)}"
    raise UsageError(f"no known client '{name}'", remedy)


def discover(engine: GeneratorPool, aim: Aim, name: str, client: Client, http: str) -> SeenTls:
    """The behaviour of the configuration `name` with a client.

    Raises CannotRunError, EngineError.
    """
    offered = engine.probe(_probe_spec(aim))
    outcome = simulate(offered, client)
    if not outcome.connects or outcome.version not in TLS_VERSIONS:
        why = outcome.reason or f"it would take {outcome.version}, which is not measured"
        if not spoken(offered) and offered.incomplete is None and not offered.unanswered:
            raise CannotRunError(
                f"the {name} accepts no version of TLS",
                "check the name (--sni) and whether the server wants a client certificate",
            )
        if (doubt := offer_doubt(offered)) is not None:
            raise CannotRunError(
                f"cannot tell whether {client.name} connects with the {name}: {doubt}",
                "try again when the server answers at once",
            )
        if any(chain_fault(chain) for chain in offered.certificates):
            # The engine refuses the same certificate, and knows the remedy.
            engine.preflight(preflight_spec(aim, Profile(), http))
        raise CannotRunError(
            f"{client.name} does not connect with the {name}: {why}",
            "measure another client: --client NAME; `tlslab grade` lists who connects",
        )
    offer = _offer(offered, client, outcome)
    seen, backend = engine.preflight(preflight_spec(aim, offer, http))
    profile = _forced(offer, seen.facts)
    return SeenTls(name, offered, seen.facts, resumes(engine, aim, profile, http), backend)


def profile_of(found: SeenTls) -> Profile:
    """The parameters that every connection of new clients must have."""
    facts = found.facts
    group = find_group(facts.group)
    return Profile(
        tls=facts.tls,
        suites=(facts.suite,),
        groups=() if group is None else (group.name,),
        signature_schemes=_schemes(facts.signature_scheme),
        hello_retry=facts.hello_retry_request,
        # None leaves the choice to the engine, which can then use the minimal client.
        backend="openssl" if found.backend == "openssl" else None,
    )


def _profile(found: SeenTls, clients: str) -> Profile | None:
    """The settings that a cell forces; None for returning clients if no session is resumed."""
    profile = profile_of(found)
    if clients != RETURNING:
        return profile
    # The engine requests no HelloRetryRequest on a connection that resumes.
    resuming = replace(profile, hello_retry=False, resume=found.resume)
    return None if found.resume is None else resuming


def with_profiles(cells: Iterable[Cell], found: Sequence[SeenTls]) -> tuple[Cell, ...]:
    """The cells with the profiles to measure; cells as which no client can connect are left out."""
    by = {each.name: each for each in found}
    kept = []
    for cell in cells:
        profile = _profile(by[cell.factors["configuration"]], cell.factors["clients"])
        if profile is not None:
            kept.append(replace(cell, profile=profile))
    return tuple(kept)


def _probe_spec(aim: Aim) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "schema": SCHEMA,
        "target": urlsplit(aim.url).netloc,
        "trust": trust_spec(aim.trust),
        "allow": list(aim.allow),
    }
    if aim.server_name is not None:
        spec["server_name"] = aim.server_name
    return spec


def _offer(offered: ProbeRecord, client: Client, outcome: Outcome) -> Profile:
    """The client's offer in the negotiated version, limited to what the server accepts."""
    assert outcome.version is not None
    assert outcome.suite is not None
    version = outcome.version
    suites = _common(suites_of(offered, version).accepted, client.suites)
    if version == "1.2":
        # A group can be forced only with suites that have one.
        suites = [name for name in suites if ("_ECDHE_" in name) == ("_ECDHE_" in outcome.suite)]
    schemes = _common(schemes_of(offered, version).accepted, client.schemes or ())
    group = find_group(outcome.group or "")
    return Profile(
        tls=version,
        suites=tuple(found.name for name in suites if (found := find_suite(name)) is not None),
        groups=() if group is None else (group.name,),
        signature_schemes=tuple(name for name in schemes if name in SIGNATURE_SCHEMES),
        hello_retry=_RETRY in outcome.notes,
    )


def _common(accepted: Sequence[Named], wanted: Sequence[int]) -> list[str]:
    """The names of the common code points, in the client's order."""
    names = {each.code_point: each.name for each in accepted}
    return [names[number] for number in wanted if number in names]


def _forced(offer: Profile, facts: Facts) -> Profile:
    return replace(
        offer,
        suites=(facts.suite,),
        groups=offer.groups if facts.group != "none" else (),
        signature_schemes=_schemes(facts.signature_scheme),
    )


def _schemes(negotiated: str) -> tuple[str, ...]:
    """The scheme to force; none with static RSA, which signs nothing."""
    return () if negotiated == "none" else (negotiated,)


def resumes(engine: GeneratorPool, aim: Aim, profile: Profile, http: str) -> str | None:
    """The way in which the client resumes a session of this server; None if it cannot.

    Raises EngineError for a failure that says nothing about resumption.
    """
    for way in _WAYS[profile.tls or ""]:
        spec = preflight_spec(aim, replace(profile, hello_retry=False), http)
        spec["tls"] |= {"resume": way}
        if any(_resumed(engine, spec) for _ in range(_ASKED)):
            return way
    return None


def _resumed(engine: GeneratorPool, spec: Mapping[str, Any]) -> bool:
    """Whether a second connection resumed the first one's session."""
    try:
        engine.preflight(spec)
    except EngineError as error:
        if error.class_ != NOT_RESUMED:
            raise
        return False
    return True
