"""The physical limit: the sum of a connection's primitives, and how far the sides are from it."""

from dataclasses import replace

import pytest

from made_run import CLIENT_US, PRIMITIVES_US, SERVER_US, made_primitives, made_run
from tlslab.analysis import summarise
from tlslab.analysis.limit import client_limit_us, limit_ratios, server_limit_us
from tlslab.model.primitives import Primitives
from tlslab.model.record import RunRecord, Trial
from tlslab.model.run import RunContents


@pytest.fixture(name="contents")
def _contents() -> RunContents:
    return made_run(quick=True)


def trial_of(contents: RunContents, group: str) -> Trial:
    return next(trial for trial in contents.trials if trial.factors["group"] == group)


def record_of(contents: RunContents, kind: str = "client_cost") -> RunRecord:
    runs = trial_of(contents, "X25519").runs
    return next(run.record for name, run in runs.items() if name == kind)


# The handshake of 320 + 1,180 bytes is hashed; four keys are set up; each side seals two records
# (its last flight, request or response) and opens two.
SESSION_US = 1.5 + 7.0 + 4 * 0.25 + 2.0 + 2.0


def test_the_limit_is_the_sum_of_the_parts(contents: RunContents) -> None:
    full = record_of(contents)
    assert client_limit_us(full, made_primitives()) == pytest.approx(25 + 30 + 50 + SESSION_US)
    assert server_limit_us(full, made_primitives()) == pytest.approx(40 + 31 + 20 + SESSION_US)


def test_what_a_lean_client_saves_is_not_in_its_limit(contents: RunContents) -> None:
    lean = record_of(contents, "capacity")
    lean = replace(lean, spec={**lean.spec, "tls": {"key_share": "reused"}})
    share = lean.authenticated / lean.outcomes.completed
    expected = 25 + (30 - 8) + 50 * share + SESSION_US
    assert client_limit_us(lean, made_primitives()) == pytest.approx(expected)


def test_a_handshake_without_a_request_has_a_bare_connection(contents: RunContents) -> None:
    bare = replace(record_of(contents), requests=0)
    assert client_limit_us(bare, made_primitives()) == pytest.approx(10 + 30 + 50 + SESSION_US)
    ten = replace(bare, requests=10 * bare.outcomes.completed)
    expected = 25 + 9 * 15 + 30 + 50 + SESSION_US
    assert client_limit_us(ten, made_primitives()) == pytest.approx(expected)


def test_a_resumption_signs_nothing(contents: RunContents) -> None:
    full = record_of(contents)
    resumed = replace(full, facts=(replace(full.facts[0], kind="resumed"),))
    assert client_limit_us(resumed, made_primitives()) == pytest.approx(25 + 30 + SESSION_US)
    assert server_limit_us(resumed, made_primitives()) == pytest.approx(40 + 31 + SESSION_US)


def test_rsa_counts_by_the_size_of_its_key(contents: RunContents) -> None:
    full = record_of(contents)
    certificate = full.preflight.certificate
    assert certificate is not None
    rsa = replace(
        full,
        facts=(replace(full.facts[0], signature_scheme="rsa_pss_rsae_sha256"),),
        preflight=replace(full.preflight, certificate=replace(certificate, key="RSA-2048")),
    )
    assert server_limit_us(rsa, made_primitives()) == pytest.approx(40 + 31 + 600 + SESSION_US)
    other = replace(certificate, key="RSA-4096")
    rsa = replace(rsa, preflight=replace(rsa.preflight, certificate=other))
    assert server_limit_us(rsa, made_primitives()) is None


@pytest.mark.parametrize("operation", sorted({key[1] for key in PRIMITIVES_US} - {"generate"}))
def test_a_part_that_is_not_known_leaves_no_limit(contents: RunContents, operation: str) -> None:
    known = made_primitives(without=operation)
    full = record_of(contents)
    limits = (client_limit_us(full, known), server_limit_us(full, known))
    assert None in limits
    only = {"client": 1, "verify": 1, "request": 1, "server": 0, "sign": 0, "serve": 0}
    if operation in only:
        assert limits[only[operation]] is not None


def test_the_faster_of_two_libraries_is_the_limit() -> None:
    both = Primitives(
        made_primitives().primitives + made_primitives(times=0.5, backend="openssl").primitives
    )
    assert both.cost_us("X25519", "client") == 15.0
    assert both.cost_us("SHA-384", "digest", 1000) == pytest.approx(0.5)
    assert both.cost_us("X448", "client") is None


def test_records_that_disagree_have_no_limit(contents: RunContents) -> None:
    full = record_of(contents)
    mixed = replace(full, facts=(full.facts[0], replace(full.facts[0], kind="resumed")))
    assert client_limit_us(mixed, made_primitives()) is None


def test_cells_get_their_ratios_where_all_is_known(contents: RunContents) -> None:
    environment = replace(contents.environment, primitives=made_primitives())
    summary = summarise(replace(contents, environment=environment))
    estimates = summary.cell("tls=1.3,key=ecdsa-p256,group=X25519").estimates
    client, server = estimates["limit_ratio"], estimates["server_limit_ratio"]
    assert client.value == pytest.approx(CLIENT_US["X25519"] / (105 + SESSION_US), rel=0.02)
    assert server.value == pytest.approx(SERVER_US["X25519"] / (91 + SESSION_US), rel=0.02)
    assert (client.unit, server.unit) == ("ratio", "ratio")
    assert "limit_ratio" not in summary.cell("tls=1.3,key=ecdsa-p256,group=P-384").estimates


def test_without_primitives_there_are_no_ratios(contents: RunContents) -> None:
    assert limit_ratios(trial_of(contents, "X25519"), None) == {}
    assert "limit_ratio" not in summarise(contents).cells[0].estimates
