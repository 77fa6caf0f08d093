"""The experiment of a question: the factors of `--vary`, everything else left to the server."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from tlslab.domain.effects import MEASURED, SHARES, Measure, Mix
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import EFFECTS, Experiment, Pin
from tlslab.domain.factors import FACTORS
from tlslab.domain.names import NO_TLS
from tlslab.domain.wording import joined
from tlslab.domain.workload import KeepAlive, Window, Workload
from tlslab.experiment.cells import make_cells
from tlslab.experiment.files import with_levels

# A server presents the certificate of the wanted key if the client offers no other schemes.
_SCHEMES = {
    "rsa-*": ("rsa_pss_rsae_sha256", "rsa_pkcs1_sha256"),
    "ecdsa-p256": ("ecdsa_secp256r1_sha256",),
    "ecdsa-p384": ("ecdsa_secp384r1_sha384",),
    "ecdsa-p521": ("ecdsa_secp521r1_sha512",),
    "ed25519": ("ed25519",),
}

_WINDOW, _SHORT = Window(300, 1200), Window(200, 500)
_BLOCKS, _FEW = 10, 6


def question(
    vary: Mapping[str, Sequence[str]],
    fixed: Mapping[str, Sequence[str]],
    measures: Sequence[Measure],
    mix: Mix | None = None,
    quick: bool = False,
) -> Experiment:
    """The experiment whose question is what varies.

    `vary`: the levels of each factor, the first one being what others are compared with; `fixed`:
    one level each. A mix is made of all that it needs. Raises UsageError.
    """
    wanted = {"new", *measures}
    if mix is not None:
        wanted |= {"resumed"} if mix.resumed else set()
        wanted |= {"request"} if mix.requests > 1 else set()
    _check(vary, fixed, wanted)
    window = _SHORT if quick else _WINDOW
    kept = KeepAlive(window, 16) if "request" in wanted else None
    bare = Experiment(
        name="-".join(("vary", *vary))[:64],
        title=f"What do {joined([_noun(name) for name in vary])} change here?"
        if len(vary) > 1
        else f"What does the {_noun(next(iter(vary)))} change here?",
        factors=(),
        baseline={},
        workload=Workload(4788, 16, 1, window, resume="psk", keep_alive=kept),
        blocks=_FEW if quick else _BLOCKS,
        pins=tuple(
            Pin({"key": key}, signature_schemes=schemes) for key, schemes in _SCHEMES.items()
        )
        if "key" in vary or "key" in fixed
        else (),
        quick=quick,
        kind=EFFECTS,
        settings=mix,
    )
    shares = tuple(share for measure, share in SHARES.items() if measure in wanted)
    given = {name: tuple(levels) for name, levels in (*fixed.items(), *vary.items())}
    whole = with_levels(bare, {**given, "resumed": shares})
    for name, levels in vary.items():
        # Two spellings of a level are one.
        if len(whole.levels(name)) < 2:
            raise _one_level(name, levels)
    asked = replace(whole, baseline={name: whole.levels(name)[0] for name in vary})
    _check_levels(asked)
    return asked


def _check(
    vary: Mapping[str, Sequence[str]], fixed: Mapping[str, Sequence[str]], wanted: Set[Measure]
) -> None:
    """Raises UsageError for what is no question."""
    for name, levels in fixed.items():
        if len(levels) > 1:
            raise UsageError(
                f"--set {name}={','.join(levels)}: several levels are a question",
                f"ask it: --vary {name}={','.join(levels)}",
            )
    for name, levels in vary.items():
        if name in fixed:
            raise UsageError(
                f"{name} is asked about and fixed", f"leave --set {name}={fixed[name][0]} out"
            )
        if len(set(levels)) < 2:
            raise _one_level(name, levels)
    for name in ("resumed", "resume"):
        if name in vary or name in fixed:
            raise UsageError(
                f"{name}: what is measured, not what varies", "give --measure new,resumed"
            )
    if NO_TLS in vary.get("tls", ()) and "resumed" in wanted:
        raise UsageError("without TLS (tls=none) nothing is resumed", "give --measure new,request")


def _one_level(name: str, levels: Sequence[str]) -> UsageError:
    return UsageError(
        f"--vary {name}={','.join(levels)}: one level only",
        f"give another one to compare it with, or fix it: --set {name}={levels[0]}",
    )


def _check_levels(asked: Experiment) -> None:
    """Raises UsageError for a varied level that no combination can have."""
    cells, excluded = make_cells(asked)
    for name in asked.baseline:
        had = {cell.factors[name] for cell in cells}
        for each in excluded:
            if (level := each.factors[name]) not in had:
                raise UsageError(
                    f"{name}={level}: {each.reason}", f"leave {level} out, or what excludes it"
                )


def _noun(factor: str) -> str:
    row = FACTORS.get(factor)
    return factor if row is None else row.noun or row.heading or row.name.replace("_", " ")


def measures_in(text: str) -> tuple[Measure, ...]:
    """What `--measure` names: `new,resumed`. Raises UsageError."""
    named = [part.strip() for part in text.split(",") if part.strip()]
    for name in named or [text]:
        if name not in MEASURED:
            known = ", ".join(MEASURED)
            raise UsageError(f"--measure {text}: no such measure", f"give one or more of {known}")
    return tuple(measure for measure in MEASURED if measure in named)


_MIX = re.compile(r"(\d{1,3}) ?% resumed(?:, ?(\d{1,6}) requests?(?: each)?)?")


def mix_in(text: str) -> Mix:
    """`60% resumed, 8 requests each`. Raises UsageError."""
    found = _MIX.fullmatch(text.strip())
    if found is None or int(found[1]) > 100 or found[2] == "0":
        raise UsageError(f"--mix {text}: not a mix", "write it like '60% resumed, 8 requests'")
    return Mix(int(found[1]) / 100, int(found[2] or 1))
