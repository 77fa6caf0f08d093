"""The bars for a host through Ray, and the simulated hosts beside them."""

import time

import pytest

from bench.blocks import Interval
from bench.distribution import Repeated, RepeatingHost, judge, totals
from factories.run import made_run
from tlslab.domain.totals import Totals
from tlslab.lab.generators.joint_events import added_totals
from tlslab.lab.generators.joint_run import last_totals
from tlslab.lab.store import from_json, to_json

RECORD = made_run(quick=True).trials[0].runs["capacity"].record


@pytest.mark.parametrize(
    ("low", "high", "judgement"),
    [
        (0.99, 1.02, "met"),
        (1.005, 1.03, "met"),
        (0.89, 1.13, "CANNOT TELL"),
        (0.89, 1.02, "CANNOT TELL"),
        (1.005, 1.2, "CANNOT TELL"),
        (1.02, 1.03, "MISSED"),
        (0.7, 0.98, "MISSED"),
    ],
)
def test_a_ratio_is_1_if_its_interval_is_narrow_and_there(
    low: float, high: float, judgement: str
) -> None:
    assert judge(Interval((low * high) ** 0.5, low, high, 10)) == judgement


@pytest.mark.parametrize("portion", [0.0, 0.3, 1.0])
def test_totals_are_balanced_and_add_up(portion: float) -> None:
    data = totals(to_json(RECORD), portion)
    for each, hosts in ((data, 1), (added_totals([data] * 3), 3)):
        found = from_json(each, Totals)
        assert found.arrivals == found.completed + found.troubled + found.in_flight
        assert found.completed == hosts * round(portion * RECORD.outcomes.completed)
        assert found.handshake.count == hosts * round(portion * RECORD.summaries["handshake"].n)


def test_a_simulated_host_reports_its_totals_to_the_end() -> None:
    repeated = Repeated(to_json(RECORD), 1.05)
    conversation = RepeatingHost(1, repeated).open({}, [])
    conversation.start(time.monotonic_ns() - 2 * 10**9, 1e9)
    ready, progress, ended = conversation.events(0.0)
    assert (ready["event"], progress["event"], ended["event"]) == ("ready", "progress", "ended")
    assert last_totals(progress).completed < last_totals(ended).completed
    assert last_totals(ended).completed == RECORD.outcomes.completed
    assert conversation.events(0.0) == []
