"""Made-up proofs: sides with values by block and chosen ratios, and a whole summary."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from factories.offered import offered
from factories.run import World, environment
from tlslab.advice.proof_verdict import proved
from tlslab.analysis.compare import Measured
from tlslab.analysis.experiment import summarise_experiment
from tlslab.analysis.proof.answer import answer
from tlslab.analysis.proof.deciding_ratios import figures, verdict_of
from tlslab.analysis.proof.sides import Sides as Sides
from tlslab.analysis.proof.sides import sides_of
from tlslab.analysis.proof.tables import chart, configurations, table
from tlslab.contract.record import Facts
from tlslab.domain.configuration import BASELINE, CANDIDATE, Configuration, ServedCertificate
from tlslab.domain.estimates import HANDSHAKE_P99
from tlslab.domain.finding import CellSummary, CellVerdict, Summary
from tlslab.domain.proof import Proof, SeenTls
from tlslab.domain.proof_settings import Measure, ProofSettings, needed
from tlslab.domain.run import RunContents
from tlslab.experiment import make_plan
from tlslab.experiment.proof import proof_experiment
from tlslab.words import worded

SECOND_US = 1e6


def cell(
    configuration: str,
    clients: str,
    rng: np.random.Generator,
    cost_us: float,
    request_us: float = 40.0,
    noise: float = 0.01,
    blocks: int = 10,
    verdict: CellVerdict = "valid",
    lower_bounds: tuple[str, ...] = (),
    anytime: bool = False,
    rate_noise: float | None = None,
) -> Measured:
    """A cell whose server is at its limit: the rate is the number of connections that fit into a
    second.

    `noise` is that of costs, and of rates unless `rate_noise` is given.
    """
    of_rates = noise if rate_noise is None else rate_noise

    def drawn(value: float, by: float = noise) -> dict[int, float]:
        return {n: value * float(np.exp(rng.normal(0, by))) for n in range(blocks)}

    values: dict[str, Mapping[int, float]] = {
        "connections_per_s": drawn(SECOND_US / cost_us, of_rates),
        "server_cpu_us_per_connection": drawn(cost_us),
    }
    if clients == "new":
        values |= {
            "keep_alive_requests_per_s": drawn(SECOND_US / request_us, of_rates),
            "keep_alive_server_cpu_us_per_request": drawn(request_us),
            HANDSHAKE_P99: drawn(cost_us / 40, of_rates),
        }
    factors = {"configuration": configuration, "clients": clients}
    key = ",".join(f"{name}={level}" for name, level in factors.items())
    summary = CellSummary(key, factors, verdict, (), blocks, {}, lower_bounds=lower_bounds)
    return Measured(summary, values, anytime)


def made_sides(
    new: tuple[float, float] = (500.0, 500.0),
    returning: tuple[float, float] = (200.0, 200.0),
    requests: tuple[float, float] = (40.0, 40.0),
    share: float = 0.5,
    seed: int = 1,
    noise: float = 0.01,
    blocks: int = 10,
    anytime: bool = False,
    rate_noise: float | None = None,
) -> dict[Measure, Sides]:
    """Both configurations by the server's costs, in microseconds: baseline and candidate."""
    rng = np.random.default_rng(seed)
    names = ("baseline", "candidate")
    cells = []
    for name, cost, again, request in zip(names, new, returning, requests, strict=True):
        more: dict[str, Any] = {"noise": noise, "blocks": blocks}
        more |= {"anytime": anytime, "rate_noise": rate_noise}
        cells += [
            cell(name, "new", rng, cost, request, **more),
            cell(name, "returning", rng, again, request, **more),
        ]
    return sides_of(cells, share)


def made_contents(settings: ProofSettings) -> RunContents:
    """A run of a proof, without any trial."""
    experiment = proof_experiment(settings)
    plan = make_plan(experiment, seed=1)
    return RunContents(experiment, plan, environment(World(), plan), ())


def made_proof() -> Summary:
    """A whole proof: handshakes with the candidate cost a tenth, and no client is lost."""
    lines = ("ssl_protocols TLSv1.2 TLSv1.3;",)
    key = (ServedCertificate("ecdsa-p256"),)
    settings = ProofSettings(
        "nginx",
        "Chromium 156",
        0.05,
        0.5,
        tuple(Configuration(name, "my.conf", lines, key) for name in (BASELINE, CANDIDATE)),
    )
    contents = made_contents(settings)
    facts = Facts(
        "1.3", "TLS_AES_128_GCM_SHA256", "X25519", "ecdsa_secp256r1_sha256", "full", False
    )
    found = tuple(
        SeenTls(name, offered(), facts, "psk", "rustls") for name in (BASELINE, CANDIDATE)
    )
    ratios = figures(made_sides(new=(5000.0, 500.0)), settings.margin)
    proof = Proof(settings, ratios, verdict_of(ratios, needed(contents.experiment)))
    summary = Summary(
        experiment=summarise_experiment(contents, asdict(contents.experiment.workload)),
        environment=replace(contents.environment, found=found),
        cells=(),
        excluded=(),
        comparisons=(),
        findings=(),
        figures=chart(proof),
        tables=table(proof, found),
        texts=configurations(settings),
        answer=answer(contents, proof),
        proof=proof,
    )
    return worded(proved(summary))
