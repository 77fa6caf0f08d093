"""Made-up calibrations of parts with chosen costs."""

from collections.abc import Mapping
from dataclasses import replace

from factories.run import World, made_run
from tlslab.domain.run import RunContents
from tlslab.experiment import load, with_levels

# The server's cost of one of each part in microseconds; by level if it differs from the centre.
FULL, RESUMED, REQUEST, KILOBYTE = 210.0, 120.0, 18.0, 0.35
MORE = {"P-256": 9.0, "P-384": 380.0, "X25519MLKEM768": 44.0}
KEYS = {"rsa-2048": 520.0}
BYTES = {"TLS_AES_256_GCM_SHA384": 0.05, "TLS_CHACHA20_POLY1305_SHA256": 0.4}
TLS12, TLS12_RESUMED = -12.0, 7.0

NO_CHANGE: Mapping[str, tuple[str, ...]] = {}


def true_cost(factors: Mapping[str, str]) -> float:
    """The cost of a connection if the parts add up, in microseconds."""
    resumed = int(factors["resumed"].rstrip("%")) / 100
    requests = int(factors["requests"])
    kilobytes = requests * int(factors["document_bytes"]) / 1000
    old = factors["tls"] == "1.2"
    full = FULL + KEYS.get(factors["key"], 0.0) + (TLS12 if old else 0.0)
    return (
        (1 - resumed) * full
        + resumed * (RESUMED + (TLS12_RESUMED if old else 0.0))
        + MORE.get(factors["group"], 0.0) * ((1 - resumed) if old else 1.0)
        + requests * REQUEST
        + kilobytes * (KILOBYTE + BYTES.get(factors["suite"], 0.0))
    )


def made_calibration(
    noise: float = 0.02,
    seed: int = 1,
    quick: bool = False,
    off: float = 1.0,
    blocks: int | None = None,
    levels: Mapping[str, tuple[str, ...]] = NO_CHANGE,
) -> RunContents:
    """A run of `calibrate`; mixes of full and resumed connections cost `off` times their parts.

    `levels`: other levels, as by --set.
    """

    def cost_us(factors: Mapping[str, str]) -> float:
        mixed = factors["resumed"] not in ("0%", "100%")
        return true_cost(factors) * (off if mixed else 1.0)

    world = World(noise=noise, seed=seed, cost_us=cost_us)
    experiment = with_levels(load("calibrate", "quick" if quick else ""), levels)
    return made_run(world, experiment=replace(experiment, blocks=blocks or experiment.blocks))
