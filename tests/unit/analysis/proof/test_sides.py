"""The client of the lab that made the connections whose times are compared."""

from dataclasses import replace

import pytest

from factories.proof import made_contents
from factories.run import made_run
from tlslab.analysis.proof.sides import has_one_client
from tlslab.domain.proof_settings import ProofSettings

SETTINGS = ProofSettings("nginx", "Chromium 156", 0.05, 0.5)


@pytest.mark.parametrize(
    ("before", "after", "one"),
    [
        (("rustls", 90), ("rustls", 80), True),
        (("rustls", 90), ("rustls", 0), False),
        (("rustls", 0), ("openssl", 0), False),
    ],
)
def test_library_and_minimal_client_are_two(
    before: tuple[str, int], after: tuple[str, int], one: bool
) -> None:
    done = made_run(quick=True).trials[0]
    trials = []
    for name, (backend, minimal) in (("baseline", before), ("candidate", after)):
        run = done.runs["capacity"]
        record = replace(run.record, backend=backend, minimal_client=minimal)
        factors = {"configuration": name, "clients": "new"}
        trials.append(
            replace(done, factors=factors, runs={"capacity": replace(run, record=record)})
        )
    assert has_one_client(replace(made_contents(SETTINGS), trials=tuple(trials))) is one
