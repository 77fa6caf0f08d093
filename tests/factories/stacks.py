"""Call stacks for tests: real ones from runs, and made-up ones."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from factories.run import World, made_run
from tlslab.domain.run import RunContents
from tlslab.domain.stacks import CellStacks
from tlslab.lab.store import from_json
from tlslab.lab.store.folder import unpack

_KEPT = Path(__file__).parents[1] / "unit" / "analysis" / "why" / "stacks.jsonl"

SSL = "nginx;nginx`main;nginx`ngx_ssl_handshake;libssl.so.3`SSL_do_handshake"
DERIVE = f"{SSL};libcrypto.so.3`EVP_PKEY_derive;libcrypto.so.3`?"
SIGN = f"{SSL};libcrypto.so.3`EVP_DigestSign;libcrypto.so.3`BN_mod_exp_mont"
TCP = "nginx;nginx`main;libc.so.6`write;kernel`do_syscall_64;kernel`tcp_sendmsg"
NOBODYS = "nginx;libcrypto.so.3`?"


@cache
def kept() -> dict[str, CellStacks]:
    """Stacks of real runs by `SERVER:CELL`: Debian 12's servers and the reference server."""
    found = [from_json(json.loads(line), CellStacks) for line in _KEPT.read_text().splitlines()]
    return {each.cell: replace(each, folded=unpack(each.folded)) for each in found}


def made_stacks(
    counts: Mapping[str, int],
    cell: str = "c",
    factors: Mapping[str, str] | None = None,
    kernel: bool = True,
    reason: str = "",
) -> CellStacks:
    """A cell with N samples of each stack."""
    folded = "\n".join(f"{stack} {count}" for stack, count in counts.items())
    return CellStacks(
        cell, factors or {}, "2026-03-14T09:26:53Z", reason, 1499, kernel, 0, 300.0, folded
    )


def sampled_run(quick: bool = True, hostile: str = "") -> RunContents:
    """A made-up run of `groups`, with each cell sampled: another group is another key exchange."""
    contents = made_run(World(), quick=quick)
    stacks = []
    for cell in contents.plan.cells:
        more = {"P-384": 3_000, "P-521": 3_400, "X448": 1_400}.get(cell.factors["group"], 100)
        counts = {DERIVE + hostile: more, SIGN: 900, TCP: 900, NOBODYS: 40}
        stacks.append(made_stacks(counts, cell.key, cell.factors))
    return replace(contents, stacks=tuple(stacks))
