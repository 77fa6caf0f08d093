"""The bars for a host through Ray, and the simulated hosts beside them."""

import pytest

from bench.distribution import totals
from factories.run import made_run
from tlslab.domain.totals import Totals
from tlslab.lab.generators.joint_events import added_totals
from tlslab.lab.store import from_json, to_json

RECORD = made_run(quick=True).trials[0].runs["capacity"].record


@pytest.mark.parametrize("portion", [0.0, 0.3, 1.0])
def test_totals_are_balanced_and_add_up(portion: float) -> None:
    data = totals(to_json(RECORD), portion)
    for each, hosts in ((data, 1), (added_totals([data] * 3), 3)):
        found = from_json(each, Totals)
        assert found.arrivals == found.completed + found.troubled + found.in_flight
        assert found.completed == hosts * round(portion * RECORD.outcomes.completed)
        assert found.handshake.count == hosts * round(portion * RECORD.summaries["handshake"].n)
