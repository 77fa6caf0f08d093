"""The specifications that the lab sends to the engine."""

from dataclasses import replace

from tlslab.domain.trial import RunKind
from tlslab.domain.workload import KeepAlive, Window
from tlslab.experiment import load, make_cells
from tlslab.lab.placement import Placement, place
from tlslab.lab.specs import Aim, preflight_spec, run_spec
from tlslab.lab.trial import run_kinds, run_order

EXPERIMENT = load("groups")
CELL = make_cells(EXPERIMENT)[0][0]
RUN_KINDS: tuple[RunKind, ...] = ("capacity", "client_cost")
AIM = Aim("https://127.0.0.1:1/d", "PEM", "localhost", ("host",), (1,))


def test_capacity_is_lean_and_client_cost_is_full() -> None:
    lean = run_spec(AIM, CELL.profile, EXPERIMENT.workload, "capacity")
    full = run_spec(AIM, CELL.profile, EXPERIMENT.workload, "client_cost")
    assert (lean["tls"]["authenticate"], lean["tls"]["key_share"]) == ("sampled", "reused")
    assert lean["tls"]["client"] == "auto"
    # What servers choose may differ: one client makes the connections of all.
    free = replace(CELL.profile, tls=None, groups=())
    chosen = run_spec(AIM, free, EXPERIMENT.workload, "capacity")
    assert chosen["tls"]["client"] == "library"
    assert (full["tls"]["authenticate"], full["tls"]["key_share"]) == ("every", "fresh")
    # The measured client cost must be that of an ordinary client.
    assert full["tls"]["client"] == "library"
    assert (lean["stop"], full["stop"]) == ({"duration_ms": 2000}, {"duration_ms": 1000})
    assert lean["cpus"] == [1]
    assert lean["allow"] == ["host"]


def test_a_cell_forces_all_that_it_names() -> None:
    tls = run_spec(AIM, CELL.profile, EXPERIMENT.workload, "capacity")["tls"]
    assert (tls["versions"], tls["groups"]) == (["1.3"], ["X25519"])
    assert tls["suites"] == ["TLS_AES_256_GCM_SHA384"]
    assert tls["signature_schemes"] == ["ecdsa_secp256r1_sha256"]
    assert (tls["server_name"], tls["trust"]) == ("localhost", {"pem": "PEM"})


def test_resumption_is_asked_for_only_where_the_workload_has_it() -> None:
    workload = EXPERIMENT.workload
    assert "resume" not in run_spec(AIM, CELL.profile, workload, "capacity")["tls"]
    resuming = replace(workload, resume="psk", resume_ratio=0.6)
    tls = run_spec(AIM, CELL.profile, resuming, "client_cost")["tls"]
    assert (tls["resume"], tls["resume_ratio"]) == ("psk", 0.6)


def test_trust_is_a_word_or_a_text_in_pem() -> None:
    trusts = [preflight_spec(Aim("u", trust), CELL.profile)["tls"]["trust"] for trust in
              ("system", "anyone", "PEM")]  # fmt: skip
    assert trusts == ["system", "anyone", {"pem": "PEM"}]


def test_both_runs_and_the_preflight_speak_the_workloads_http() -> None:
    workload = replace(EXPERIMENT.workload, http="2", streams=5, requests_per_connection=9)
    for kind in RUN_KINDS:
        spec = run_spec(AIM, CELL.profile, workload, kind)
        assert spec["http"] == {"version": "2", "streams": 5}
        assert spec["requests_per_connection"] == {"count": 9}
    assert preflight_spec(AIM, CELL.profile, "2")["http"] == {"version": "2"}
    assert preflight_spec(AIM, CELL.profile)["http"] == {"version": "1.1"}


def test_connections_that_are_kept_open_carry_as_many_requests_as_fit() -> None:
    keep_alive = KeepAlive(Window(10, 200), connections=128, http="2", streams=10)
    workload = replace(EXPERIMENT.workload, keep_alive=keep_alive)
    spec = run_spec(AIM, CELL.profile, workload, "keep_alive")
    assert spec["requests_per_connection"] == "unlimited"
    assert (spec["connections"], spec["warmup_ms"], spec["stop"]) == (128, 10, {"duration_ms": 200})
    assert spec["http"] == {"version": "2", "streams": 10}
    assert spec["tls"]["client"] == "library"
    plain = replace(workload, keep_alive=replace(keep_alive, http=None))
    assert run_spec(AIM, CELL.profile, plain, "keep_alive")["http"] == {
        "version": "1.1",
        "streams": 1,
    }


def test_a_cells_own_levels_change_the_workload() -> None:
    workload = replace(EXPERIMENT.workload, http="2", streams=5, requests_per_connection=9)
    levels = {"http": "1.1", "connections": "64", "resume": "psk", "group": "X25519"}
    changed = workload.of(levels)
    assert (changed.http, changed.streams) == ("1.1", 1)
    assert (changed.connections, changed.resume) == (64, "psk")
    assert workload.of({}) == workload


def test_a_run_in_three_parts_begins_with_another_one_in_each_block() -> None:
    kinds = run_kinds(load("suites").workload)
    assert [run_order(block, kinds)[0] for block in range(4)] == [
        "capacity", "client_cost", "keep_alive", "capacity",
    ]  # fmt: skip
    assert run_order(3, run_kinds(EXPERIMENT.workload)) == ("client_cost", "capacity")


def test_a_trial_has_the_runs_that_have_a_window() -> None:
    assert run_kinds(load("calibrate").workload) == ("capacity",)


def test_a_server_with_all_processors_shares_the_last_one() -> None:
    two = place(True, (0, 1), count=2)
    assert (two, two.shared) == (Placement((0, 1), (1,)), True)
    assert place(True, (0, 1), count=1, most=2) == Placement((0,), (1,))
    assert place(True, (0, 1, 2, 3), count=1, most=2) == Placement((0,), (2,))
    assert not place(True, (0, 1, 2, 3), count=2, most=2).shared


def test_server_and_generator_never_share_a_processor() -> None:
    assert place(True, (0, 1)) == Placement((0,), (1,))
    assert place(True, (2, 5, 7)) == Placement((2,), (5,))
    assert place(False, (0, 1)) == Placement((), (1,))
    assert place(True, (0,)) == Placement((), ())


def test_a_proof_goes_to_the_engine_where_there_is_one() -> None:
    proven = preflight_spec(Aim("u", proof="0123456789abcdef"), CELL.profile)
    assert proven["proof"] == "0123456789abcdef"
    assert "proof" not in preflight_spec(AIM, CELL.profile)
