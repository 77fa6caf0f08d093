"""The physical limit: the sum of a connection's primitives, and both sides' distance from it."""

from dataclasses import replace

import pytest

from factories.primitives import PRIMITIVES_US, made_primitives
from factories.run import CLIENT_US, SERVER_US, made_run
from factories.worded import summarise
from tlslab.analysis.limit import _sum, client_limit_us, server_limit_us
from tlslab.analysis.measures import Processors, trial_values
from tlslab.analysis.primitive_costs import cost_us
from tlslab.contract.primitives import Primitive, Primitives
from tlslab.contract.record import RunRecord
from tlslab.domain.estimates import CLIENT_LIMIT, SERVER_LIMIT
from tlslab.domain.run import RunContents
from tlslab.domain.trial import RunKind, Trial, TrialRun


@pytest.fixture(name="contents")
def _contents() -> RunContents:
    return made_run(quick=True)


def limit_ratios(trial: Trial, primitives: Primitives | None) -> dict[str, float]:
    """The ratios to the limits among a trial's values."""
    values = trial_values(trial, Processors((0,), (1,)), primitives)
    return {name: values[name] for name in (CLIENT_LIMIT, SERVER_LIMIT) if name in values}


def trial_of(contents: RunContents, group: str) -> Trial:
    return next(trial for trial in contents.trials if trial.factors["group"] == group)


def record_of(contents: RunContents, kind: str = "client_cost") -> RunRecord:
    runs = trial_of(contents, "X25519").runs
    return next(run.record for name, run in runs.items() if name == kind)


# The handshake of 320 + 1,180 bytes is hashed; four keys are set up; each side encrypts two records
# (its last flight, request or response) and decrypts two.
SESSION_US = 1.5 + 7.0 + 4 * 0.25 + 2.0 + 2.0


def test_the_limit_is_the_sum_of_the_parts(contents: RunContents) -> None:
    full = record_of(contents)
    assert client_limit_us(full, made_primitives()) == pytest.approx(25 + 30 + 50 + SESSION_US)
    assert server_limit_us(full, made_primitives()) == pytest.approx(40 + 31 + 20 + SESSION_US)


def test_the_limit_of_a_lean_client_leaves_out_the_work_that_it_saves(
    contents: RunContents,
) -> None:
    lean = record_of(contents, "capacity")
    lean = replace(lean, spec={**lean.spec, "tls": {"key_share": "reused"}})
    share = lean.authenticated / lean.outcomes.completed
    expected = 25 + (30 - 8) + 50 * share + SESSION_US
    assert client_limit_us(lean, made_primitives()) == pytest.approx(expected)


def test_a_record_that_names_no_key_share_has_a_new_one(contents: RunContents) -> None:
    full = record_of(contents)
    bare = replace(full, spec={})
    assert client_limit_us(bare, made_primitives()) == client_limit_us(full, made_primitives())


def test_a_handshake_without_a_request_has_a_bare_connection(contents: RunContents) -> None:
    bare = replace(record_of(contents), requests=0)
    assert client_limit_us(bare, made_primitives()) == pytest.approx(10 + 30 + 50 + SESSION_US)
    ten = replace(bare, requests=10 * bare.outcomes.completed)
    expected = 25 + 9 * 15 + 30 + 50 + SESSION_US
    assert client_limit_us(ten, made_primitives()) == pytest.approx(expected)


def test_a_signature_counts_by_its_key(contents: RunContents) -> None:
    full = record_of(contents)
    expected = client_limit_us(full, made_primitives())
    # TLS 1.2 leaves the hash to the client's order, and so the curve in the scheme's name.
    other = replace(
        full, facts=(replace(full.facts[0], signature_scheme="ecdsa_secp384r1_sha384"),)
    )
    assert full.preflight.certificate is not None
    assert full.preflight.certificate.key == "ECDSA P-256"
    assert client_limit_us(other, made_primitives()) == expected
    rsa = replace(
        full,
        facts=(replace(full.facts[0], signature_scheme="rsa_pss_rsae_sha512"),),
        preflight=replace(
            full.preflight, certificate=replace(full.preflight.certificate, key="RSA-2048")
        ),
    )
    assert client_limit_us(rsa, made_primitives()) == pytest.approx(25 + 30 + 15 + SESSION_US)


def test_a_resumption_signs_nothing(contents: RunContents) -> None:
    full = record_of(contents)
    resumed = replace(full, facts=(replace(full.facts[0], kind="resumed"),))
    assert client_limit_us(resumed, made_primitives()) == pytest.approx(25 + 30 + SESSION_US)
    assert server_limit_us(resumed, made_primitives()) == pytest.approx(40 + 31 + SESSION_US)


# Costs that grow with each byte, so that the sum shows the sizes: a thousandth of a microsecond,
# and for records a microsecond in addition.
CBC = "AES-128-CBC-SHA256"
BY_SIZE: dict[tuple[str, str, int | None], float] = {
    ("TCP", "connect", None): 1000.0,
    ("TCP", "request", 2048): 2000.0,
    ("TCP", "serve", 2048): 3000.0,
    ("X25519", "client", None): 10_000.0,
    ("ecdsa_secp256r1_sha256", "verify", None): 20_000.0,
    ("SHA-256", "digest", 64): 0.064,
    ("SHA-256", "digest", 16_384): 16.384,
    ("TLS 1.2 SHA-256", "full", None): 100.0,
    ("TLS 1.3 SHA-256", "full", None): 200.0,
    **{
        (cipher, operation, size): cost
        for cipher in (CBC, "AES-128-GCM")
        for operation in ("seal", "open")
        for size, cost in ((64, 1.064), (16_384, 17.384))
    },
    (CBC, "key", None): 5.0,
    ("AES-128-GCM", "key", None): 7.0,
}


def by_size() -> Primitives:
    return Primitives(
        tuple(
            Primitive("rustls", algorithm, operation, cost, cost, cost, 7, 100, size)
            for (algorithm, operation, size), cost in BY_SIZE.items()
        )
    )


def sized(record: RunRecord, tls: str, suite: str, kind: str) -> RunRecord:
    """One connection: 300 bytes of handshake sent and 1,090 received, then 2,000 and 40,000."""
    facts = replace(record.facts[0], tls=tls, suite=suite, kind=kind)
    outcomes = replace(record.outcomes, completed=1)
    volume = replace(
        record.bytes,
        sent=2300,
        received=41_090,
        handshake_sent=300,
        handshake_received=1090,
    )
    return replace(
        record, facts=(facts,), outcomes=outcomes, bytes=volume, requests=1, authenticated=1
    )


def test_records_cost_what_their_bytes_cost(contents: RunContents) -> None:
    """In TLS 1.2 each side encrypts a Finished of 32 bytes; in TLS 1.3 all but the ServerHello."""
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"
    resumed = sized(record_of(contents), "1.2", suite, "resumed")
    # Two records encrypted with 2,032 bytes, four decrypted with 40,032.
    records = 2 + 2.032 + 4 + 40.032
    expected = 2000 + 1.39 + 100 + 2 * 5 + records
    assert client_limit_us(resumed, by_size()) == pytest.approx(expected, abs=0.003)
    full = sized(record_of(contents), "1.3", "TLS_AES_128_GCM_SHA256", "full")
    records = 2 + 2.032 + 4 + 41.0
    expected = 2000 + 10_000 + 20_000 + 1.39 + 200 + 4 * 7 + records
    assert client_limit_us(full, by_size()) == pytest.approx(expected, abs=0.003)


def test_the_bytes_are_those_of_one_connection(contents: RunContents) -> None:
    """Three connections with three times the bytes have the limit of one."""
    one = sized(record_of(contents), "1.3", "TLS_AES_128_GCM_SHA256", "full")
    volume = one.bytes
    three = replace(
        one,
        outcomes=replace(one.outcomes, completed=3),
        requests=3,
        authenticated=3,
        bytes=replace(
            volume,
            sent=3 * volume.sent,
            received=3 * volume.received,
            handshake_sent=3 * volume.handshake_sent,
            handshake_received=3 * volume.handshake_received,
        ),
    )
    assert client_limit_us(three, by_size()) == pytest.approx(client_limit_us(one, by_size()))


def test_a_finished_has_32_bytes_and_less_than_a_server_hello_is_not_encrypted(
    contents: RunContents,
) -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"
    resumed = sized(record_of(contents), "1.2", suite, "resumed")
    resumed = replace(resumed, bytes=replace(resumed.bytes, sent=2302, received=41_094))
    # Two records with 2,034 bytes, four with 40,036.
    records = 2 + 2.034 + 4 + 40.036
    expected = 2000 + 1.39 + 100 + 2 * 5 + records
    assert client_limit_us(resumed, by_size()) == pytest.approx(expected, abs=1e-6)
    short = sized(record_of(contents), "1.3", "TLS_AES_128_GCM_SHA256", "resumed")
    short = replace(short, bytes=replace(short.bytes, handshake_received=50, received=40_052))
    # The four records received have 10,000.5 bytes each, which are rounded to even.
    records = 2 + 2.032 + 4 + 40.0
    expected = 2000 + 10_000 + 0.35 + 200 + 4 * 7 + records
    assert client_limit_us(short, by_size()) == pytest.approx(expected, abs=1e-6)


def test_a_full_handshake_of_tls_1_2_exchanges_keys(contents: RunContents) -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"
    kinds = [sized(record_of(contents), "1.2", suite, kind) for kind in ("full", "resumed")]
    full, resumed = (client_limit_us(each, by_size()) for each in kinds)
    assert full is not None
    assert resumed is not None
    assert full - resumed == pytest.approx(10_000 + 20_000)


def test_a_connection_is_authenticated_once_at_most(contents: RunContents) -> None:
    full = record_of(contents)
    more = replace(full, authenticated=full.outcomes.completed + 5)
    assert client_limit_us(more, made_primitives()) == client_limit_us(full, made_primitives())


def test_a_request_costs_no_less_than_nothing(contents: RunContents) -> None:
    cheap = tuple(
        replace(p, median_us=4.0) if p.operation == "request" else p
        for p in made_primitives().primitives
    )
    full = record_of(contents)
    ten = replace(full, requests=10 * full.outcomes.completed)
    expected = 4 + 30 + 50 + SESSION_US
    assert client_limit_us(ten, Primitives(cheap)) == pytest.approx(expected)


def test_without_connections_there_is_no_limit(contents: RunContents) -> None:
    full = record_of(contents)
    none = replace(full, outcomes=replace(full.outcomes, completed=0))
    assert client_limit_us(none, made_primitives()) is None
    assert server_limit_us(none, made_primitives()) is None
    reused = replace(full, spec={**full.spec, "tls": {"key_share": "reused"}})
    without = made_primitives(without="generate")
    assert client_limit_us(reused, without) is None


def test_a_limit_is_more_than_nothing() -> None:
    assert _sum([0.25, 0.5]) == 0.75
    assert _sum([0.0]) is None
    assert _sum([0.25, None]) is None


def test_a_trial_without_runs_has_no_ratios(contents: RunContents) -> None:
    trial = trial_of(contents, "X25519")
    assert limit_ratios(replace(trial, runs={}), made_primitives()) == {}
    bare: dict[RunKind, TrialRun] = {"capacity": replace(trial.runs["capacity"], server=None)}
    assert limit_ratios(replace(trial, runs=bare), made_primitives()) == {}


def test_a_server_on_another_machine_has_no_ratio_to_the_primitives_of_this_one(
    contents: RunContents,
) -> None:
    trial = trial_of(contents, "X25519")
    run = trial.runs["capacity"]
    assert run.server is not None
    away = replace(run, server=replace(run.server, source="node_exporter"))
    here = replace(run, server=replace(run.server, source="process_tree"))
    found = [
        set(limit_ratios(replace(trial, runs={"capacity": each}), made_primitives()))
        for each in (here, away)
    ]
    assert found == [{"server_limit_ratio"}, set()]


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
    assert cost_us(both, "X25519", "client") == 15.0
    assert cost_us(both, "SHA-384", "digest", 1000) == pytest.approx(0.5)
    assert cost_us(both, "X448", "client") is None


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
