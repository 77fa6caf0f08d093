"""Plans: complete, balanced, seeded, and with a reason for each excluded cell."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from tlslab.domain.deployment import Deployment
from tlslab.domain.levels import Levels
from tlslab.domain.plan import Plan
from tlslab.experiment import load, make_cells, make_plan, with_levels
from tlslab.lab.specs import tls_spec

GROUPS = load("groups")

subsets = st.fixed_dictionaries(
    {
        factor.name: st.lists(st.sampled_from(factor.levels), min_size=1, unique=True)
        for factor in GROUPS.factors
    }
)


def plan_of(levels: dict[str, list[str]], blocks: int, seed: int) -> Plan:
    changed = with_levels(GROUPS, {name: tuple(chosen) for name, chosen in levels.items()})
    return make_plan(replace(changed, blocks=blocks), seed)


@given(subsets, st.integers(1, 12), st.integers(0, 2**32))
def test_each_block_runs_each_cell_once(
    levels: dict[str, list[str]], blocks: int, seed: int
) -> None:
    plan = plan_of(levels, blocks, seed)
    keys = {cell.key for cell in plan.cells}
    assert [trial.trial for trial in plan.trials] == list(range(blocks * len(keys)))
    for block in range(blocks):
        trials = [trial for trial in plan.trials if trial.block == block]
        assert Counter(trial.cell for trial in trials) == Counter(keys)
        assert [trial.position for trial in trials] == list(range(len(keys)))


@given(subsets)
def test_every_combination_is_a_cell_or_has_a_reason(levels: dict[str, list[str]]) -> None:
    plan = plan_of(levels, 1, 0)
    reported = [cell.factors for cell in plan.cells] + [
        excluded.factors for excluded in plan.excluded
    ]
    wanted = [dict(zip(levels, each, strict=True)) for each in product(*levels.values())]
    as_pairs = [frozenset(factors.items()) for factors in reported]
    assert len(as_pairs) == len(wanted)
    assert set(as_pairs) == {frozenset(factors.items()) for factors in wanted}
    assert all(excluded.reason for excluded in plan.excluded)


@given(subsets, st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_plan(levels: dict[str, list[str]], seed: int) -> None:
    assert plan_of(levels, 3, seed) == plan_of(levels, 3, seed)


def test_the_order_is_known_for_a_known_seed() -> None:
    """A stored seed must give the same plan in years, with any Python."""
    plan = make_plan(load("groups", "quick"), 7)
    order = [trial.cell.rpartition("=")[2] for trial in plan.trials if trial.block == 0]
    assert order == ["X448", "X25519", "X25519MLKEM768", "P-521", "P-256", "P-384"]


def test_blocks_have_orders_of_their_own() -> None:
    plan = make_plan(GROUPS, 1)
    orders = {
        tuple(trial.cell for trial in plan.trials if trial.block == block) for block in range(10)
    }
    assert len(orders) == 10


def test_the_groups_experiment_has_24_cells_and_4_exclusions() -> None:
    cells, excluded = make_cells(GROUPS)
    assert (len(cells), len(excluded)) == (24, 4)
    hybrids = {"X25519MLKEM768", "SecP256r1MLKEM768"}
    assert {each.factors["group"] for each in excluded} == hybrids
    assert {each.factors["tls"] for each in excluded} == {"1.2"}


def test_pins_follow_version_and_key() -> None:
    cells = {cell.key: cell.profile for cell in make_cells(GROUPS)[0]}
    profile = cells["tls=1.2,key=rsa-2048,group=P-384"]
    assert profile.groups == ("P-384",)
    assert profile.suites == ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",)
    assert profile.signature_schemes == ("rsa_pkcs1_sha256",)
    profile = cells["tls=1.3,key=rsa-2048,group=P-384"]
    assert profile.suites == ("TLS_AES_256_GCM_SHA384",)
    assert profile.signature_schemes == ("rsa_pss_rsae_sha256",)


def test_cells_that_a_target_refuses_are_excluded_with_its_reason() -> None:
    plan = make_plan(
        GROUPS, 1, lambda cell: "no X448 there" if cell.factors["group"] == "X448" else None
    )
    assert len(plan.cells) == 20
    assert sum(each.reason == "no X448 there" for each in plan.excluded) == 4


def test_suites_of_another_version_or_key_are_left_out() -> None:
    suites = ("TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "AES128-SHA")
    cells, excluded = make_cells(with_levels(GROUPS, {"suite": suites, "group": ("P-256",)}))
    assert {cell.key for cell in cells} == {
        "tls=1.3,key=ecdsa-p256,group=P-256,suite=TLS_AES_128_GCM_SHA256",
        "tls=1.3,key=rsa-2048,group=P-256,suite=TLS_AES_128_GCM_SHA256",
        "tls=1.2,key=rsa-2048,group=P-256,suite=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    }
    reasons = {each.reason for each in excluded}
    rsa = "TLS_RSA_WITH_AES_128_CBC_SHA"
    assert f"the suite {rsa} belongs to TLS 1.2" in reasons
    assert f"the suite {rsa} needs an RSA certificate" in reasons
    assert f"the suite {rsa} exchanges keys without an elliptic curve" in reasons


TWO_SERVERS = {"server": ("nginx", "reference"), "processors": ("1", "2"), "tls": ("1.3",)}


@given(st.integers(0, 2**32))
def test_cells_of_one_deployment_follow_each_other(seed: int) -> None:
    experiment = replace(with_levels(GROUPS, TWO_SERVERS), blocks=4)
    plan = make_plan(experiment, seed)
    for block in range(4):
        trials = [trial for trial in plan.trials if trial.block == block]
        deployments = [plan.cell(trial.cell).deployment for trial in trials]
        changes = sum(a != b for a, b in pairwise(deployments))
        assert (len(set(deployments)), changes) == (4, 3)


def test_the_order_of_deployments_is_drawn_for_each_block() -> None:
    plan = make_plan(with_levels(GROUPS, TWO_SERVERS), 1)
    firsts = {plan.cell(t.cell).deployment for t in plan.trials if t.position == 0}
    assert len(firsts) > 1


def test_a_deployment_is_made_of_the_server_side_factors_alone() -> None:
    changed = with_levels(
        GROUPS, {"front": ("haproxy",), "workers": ("6",), "dh_bits": ("2048",), "resume": ("psk",)}
    )
    cell = make_cells(changed, "nginx")[0][0]
    assert cell.deployment == Deployment(
        "nginx", front="haproxy", levels=Levels.of(workers="6", dh_bits="2048"), resume="psk"
    )
    assert cell.key.startswith("front=haproxy,workers=6,dh_bits=2048,tls=1.3")
    assert make_cells(GROUPS)[0][0].deployment == Deployment("reference")


def test_a_way_to_resume_belongs_to_a_version() -> None:
    changed = with_levels(GROUPS, {"resume": ("none", "ticket", "psk"), "group": ("X25519",)})
    cells, excluded = make_cells(changed)
    assert {(c.factors["tls"], c.factors["resume"]) for c in cells} == {
        ("1.3", "none"), ("1.3", "psk"), ("1.2", "none"), ("1.2", "ticket"),
    }  # fmt: skip
    assert "resumption by psk belongs to TLS 1.3" in {each.reason for each in excluded}


def test_stapling_is_of_the_server_and_is_compared_by_the_client() -> None:
    changed = with_levels(GROUPS, {"ocsp_stapling": ("off", "on"), "group": ("X25519",)})
    cells, _ = make_cells(changed)
    seen = {
        (
            cell.factors["ocsp_stapling"],
            cell.deployment.levels.is_on("ocsp_stapling"),
            cell.profile.levels.get("ocsp_stapling"),
        )
        for cell in cells
        if cell.deployment is not None
    }
    assert seen == {("off", False, "off"), ("on", True, "on")}
    assert tls_spec(cells[-1].profile)["ocsp_stapling"] is True
    without = make_cells(GROUPS)[0][0].profile
    assert "ocsp_stapling" not in tls_spec(without)


def test_nothing_is_stapled_where_every_connection_resumes() -> None:
    levels = {"tls": ("1.3",), "group": ("X25519",), "ocsp_stapling": ("off", "on")}
    resumed = {"resumed": ("0%", "50%", "100%"), "resume": ("psk",)}
    cells, excluded = make_cells(with_levels(GROUPS, levels | resumed))
    left_out = {(each.factors["ocsp_stapling"], each.factors["resumed"]) for each in excluded}
    assert left_out == {("on", "100%")}
    assert {each.reason for each in excluded} == {
        "a resumed handshake has no certificate to which a response could be stapled"
    }
    assert ("off", "100%") in {(c.factors["ocsp_stapling"], c.factors["resumed"]) for c in cells}
