"""The physical floor: bare TCP and the primitives, by `crates/engine/examples/floor.rs`."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.child import run
from bench.server import Server
from tlslab.model.errors import CannotRunError

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "target" / "release" / "examples" / "floor"

# `tlslab-load --lean` authenticates one connection of so many in full.
SAMPLING_PERIOD = 128

# What each of the two ways to load cannot do without: how often per connection.
LEAN: Mapping[str, float] = {
    "tcp": 1,
    "x25519_agree": 1,
    "key_schedule": 1,
    "transcript": 1,
    "records": 1,
    "ecdsa_p256_verify": 1 / SAMPLING_PERIOD,
}
FULL: Mapping[str, float] = {**LEAN, "x25519_generate": 1, "ecdsa_p256_verify": 1}

NAMES = {
    "tcp": "bare TCP connection, plain port",
    "x25519_generate": "X25519, generate a key",
    "x25519_agree": "X25519, agree",
    "key_schedule": "HKDF-SHA-256 key schedule",
    "transcript": "SHA-256 of the transcript",
    "records": "AES-128-GCM records",
    "ecdsa_p256_verify": "ECDSA P-256, verify",
}


@dataclass(frozen=True)
class Floor:
    """Processor time of each term once, in microseconds."""

    terms: Mapping[str, float]

    def total(self, how_often: Mapping[str, float]) -> float:
        """The floor of one connection, in microseconds."""
        return sum(self.terms[name] * times for name, times in how_often.items())


def build() -> None:
    """Compiles the program; it is a bench's and not among those that `make setup` installs.

    Raises CannotRunError; cargo has then said why.
    """
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--workspace"]
    if subprocess.run([*command, "--example", "floor"], cwd=ROOT, check=False).returncode != 0:
        raise CannotRunError("the floor's program does not compile")


def measure(server: Server, seconds: float) -> Floor:
    """One measurement on the generator's processor. Raises CannotRunError."""
    address = f"{server.host}:{server.plain_port}"
    done = run([str(PROGRAM), address, f"{seconds:g}"], seconds, server.worker)
    if done.code != 0:
        raise CannotRunError(f"the floor could not be measured: {done.output.strip()[-400:]}")
    return parse(done.output)


def parse(output: str) -> Floor:
    """Reads the program's one line of JSON."""
    terms = json.loads(output)
    return Floor({name: float(terms[name]) for name in NAMES})
