"""Shares of a load: their sum is the whole, and each host has a part."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.lab.generators.host import HostFacts
from tlslab.lab.generators.shares import (
    most_hosts,
    processors_of,
    seed_of,
    split,
    whole_parts,
    workers_of,
)

HERE = "here"
SPEC: dict[str, Any] = {"url": "https://h/", "connections": 10, "stop": {"duration_ms": 1000}}


def hosts(*machines: str, processors: tuple[int, ...] = (0, 1, 2, 3)) -> list[HostFacts]:
    return [
        HostFacts(f"host-{number}", processors, "x86_64", machine)
        for number, machine in enumerate(machines)
    ]


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=20), st.integers(0, 5000))
def test_whole_parts_add_up_and_leave_nobody_out(weights: list[float], more: int) -> None:
    total = len(weights) + more
    parts = whole_parts(total, weights)
    assert sum(parts) == total
    assert min(parts) >= 1
    exact = [more * weight / sum(weights) for weight in weights]
    assert all(abs(part - 1 - each) < 1 + 1e-6 for part, each in zip(parts, exact, strict=True))


def test_a_closed_loop_is_shared_out_by_weight() -> None:
    shares = split(SPEC, hosts("a", "b"), [3.0, 1.0], HERE)
    assert [share["connections"] for share in shares] == [7, 3]
    assert [share["generators"] for share in shares] == [2, 2]
    assert [share["portion"] for share in shares] == [0.75, 0.25]
    assert [share["stop"] for share in shares] == [SPEC["stop"]] * 2
    assert "load" not in shares[0]
    assert "generators" not in SPEC


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=8), st.floats(1, 1e5))
def test_rates_add_up_and_arrivals_are_independent(weights: list[float], rate: float) -> None:
    load = {"rate": {"constant": rate}, "arrivals": "poisson", "seed": 5}
    spec = {**SPEC, "connections": 100, "load": load}
    shares = split(spec, hosts(*"abcdefgh"[: len(weights)]), weights, HERE)
    rates = [share["load"]["rate"]["constant"] for share in shares]
    assert sum(rates) == pytest.approx(rate)
    assert rates[0] / rates[1] == pytest.approx(weights[0] / weights[1])
    seeds = [share["load"]["seed"] for share in shares]
    assert seeds[0] == 5
    assert len(set(seeds)) == len(seeds)
    assert max(seeds) < 2**53


def test_seeds_of_one_run_are_those_of_no_other() -> None:
    seeds = {seed_of(seed, number) for seed in range(1, 100) for number in range(1, 20)}
    assert len(seeds) == 99 * 19


def test_steps_ramps_counts_and_traces_are_shared_out() -> None:
    stepped = {**SPEC, "connections": 8, "load": {"connection_steps": [2, 4, 8]}}
    shares = split(stepped, hosts("a", "b"), [1.0, 1.0], HERE)
    assert [share["load"]["connection_steps"] for share in shares] == [[1, 2, 4]] * 2
    rates = {"steps": [10.0, 20.0]}
    shares = split({**SPEC, "load": {"rate": rates}}, hosts("a", "b"), [3.0, 1.0], HERE)
    assert [share["load"]["rate"]["steps"] for share in shares] == [[7.5, 15.0], [2.5, 5.0]]
    ramp = {"ramp": {"from": 0.0, "to": 100.0, "over_ms": 500}}
    counted = {**SPEC, "stop": {"count": 9}, "load": {"rate": ramp, "trace": 3}}
    first, second = split(counted, hosts("a", "b"), [1.0, 1.0], HERE)
    assert first["load"]["rate"]["ramp"] == {"from": 0.0, "to": 50.0, "over_ms": 500}
    assert first["stop"]["count"] + second["stop"]["count"] == 9
    assert first["load"]["trace"] + second["load"]["trace"] == 3


@pytest.mark.parametrize(
    ("change", "most"),
    [
        ({}, 5),
        ({"connections": 3}, 3),
        ({"stop": {"count": 2}}, 2),
        ({"load": {"connection_steps": [1, 10]}}, 1),
    ],
)
def test_a_load_takes_no_more_hosts_than_it_has_connections(
    change: dict[str, Any], most: int
) -> None:
    assert most_hosts({**SPEC, **change}, 5) == most


def test_hosts_of_one_machine_share_its_processors() -> None:
    spec = {**SPEC, "cpus": [2, 3]}
    mixed = hosts(HERE, HERE, "there")
    assert processors_of(spec, mixed, HERE) == [(2,), (3,), (0, 1, 2, 3)]
    # Fewer processors than hosts.
    assert processors_of({**SPEC, "cpus": [1]}, hosts(HERE, HERE, HERE), HERE) == [(1,)] * 3
    # Without `cpus` nothing is pinned.
    assert processors_of(SPEC, hosts(HERE, HERE), HERE) == [(), ()]


def test_each_processor_has_a_worker_and_each_worker_a_connection() -> None:
    shares = split(SPEC, hosts("a", "b"), [1.0, 1.0], HERE)
    assert [(share["threads"], share["cpus"]) for share in shares] == [(4, [0, 1, 2, 3])] * 2
    few = split({**SPEC, "connections": 3}, hosts("a", "b"), [1.0, 1.0], HERE)
    assert [(share["threads"], share["connections"]) for share in few] == [(2, 2), (1, 1)]
    free = split({**SPEC, "threads": 3}, hosts(HERE, HERE), [1.0, 1.0], HERE)
    assert [share["threads"] for share in free] == [2, 1]


def test_only_this_machine_is_known_to_let_engines_run_in_real_time() -> None:
    spec = {**SPEC, "load": {"rate": {"constant": 5.0}, "realtime": True}}
    for machines, real in [((HERE, HERE), True), ((HERE, "there"), False)]:
        shares = split(spec, hosts(*machines), [1.0, 1.0], HERE)
        assert [share["load"]["realtime"] for share in shares] == [real, real]


def test_shares_are_not_the_specification_itself() -> None:
    spec = {**SPEC, "load": {"rate": {"constant": 5.0}}}
    random.seed(1)
    split(spec, hosts("a", "b"), [1.0, 1.0], HERE)
    assert spec["load"] == {"rate": {"constant": 5.0}}


def test_each_host_has_a_worker_for_each_processor_or_its_part_of_the_threads() -> None:
    assert workers_of(SPEC, hosts("a", "b"), HERE) == [4, 4]
    # Here the specification names the processors; without any, the threads are shared out.
    assert workers_of({**SPEC, "cpus": [0, 1, 2]}, hosts(HERE, HERE), HERE) == [2, 1]
    assert workers_of({**SPEC, "threads": 3}, hosts(HERE, HERE), HERE) == [2, 1]
    assert workers_of(SPEC, hosts(HERE, HERE), HERE) == [1, 1]
