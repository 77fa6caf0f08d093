"""Which runs can have call-stack samples, and how much longer they take."""

from dataclasses import replace

import pytest

from tlslab.domain.errors import UsageError
from tlslab.experiment import load
from tlslab.lab.experiment_run import execute, foresee
from tlslab.lab.request import Request
from tlslab.lab.why.sampling import sampling_seconds
from tlslab.servers import MANAGED


def request(name: str = "groups", target: str = "nginx") -> Request:
    return Request(load(name, "quick"), (target,), ("tlslab",), seed=1, why=True)


@pytest.mark.parametrize("name", ["groups", "calibrate"])
def test_samples_take_their_time(name: str) -> None:
    asked = request(name)
    without, found = foresee(replace(asked, why=False)), foresee(asked)
    more = sampling_seconds(len(found.plan.cells), asked.experiment.workload)
    assert found.seconds == pytest.approx(without.seconds + more)
    assert more > 2 * len(found.plan.cells)
    if without.at_least is not None:
        assert found.at_least == pytest.approx(without.at_least + more)


@pytest.mark.parametrize(
    "asked",
    [request(target="https://127.0.0.1:1/"), request("capacity"), request("concurrency")],
    ids=["a running server", "capacity", "benchmark"],
)
def test_sampling_of_unknown_processes_is_refused_with_a_remedy(asked: Request) -> None:
    for call in (foresee, lambda wanted: execute(wanted, lambda event: None)):
        with pytest.raises(UsageError) as refused:
            call(asked)  # type: ignore[no-untyped-call, unused-ignore]
        assert "--why samples" in refused.value.message
        assert refused.value.remedy


def test_servers_without_names_say_so() -> None:
    reasons = {name: kind.no_samples for name, kind in MANAGED.items() if kind.no_samples}
    assert set(reasons) == {"tomcat", "caddy"}
    assert all("perf cannot name" in reason for reason in reasons.values())
