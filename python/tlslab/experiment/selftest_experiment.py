"""The experiment of `tlslab selftest`: one server under two names, and slower copies of it."""

from tlslab.domain.experiment import Exclusion, Experiment, Factor
from tlslab.domain.workload import Window, Workload

BASELINE = "a"
EQUAL = "b"
NO_BURN = "0%"

# The planted slowdowns.
BURNS = ("2%", "5%", "10%")
QUICK_BURNS = ("5%", "10%")

# All servers burn, also with a share of zero, so that all read the clock equally often.
WORKLOAD = Workload(
    document_bytes=2048,
    connections=16,
    requests_per_connection=1,
    capacity=Window(100, 500),
    client_cost=Window(50, 200),
)


def selftest_experiment(blocks: int, burns: tuple[str, ...] = BURNS) -> Experiment:
    """Comparisons in this number of blocks, with these slowdowns planted."""
    return Experiment(
        name="selftest",
        title="What can this machine tell apart?",
        factors=(
            Factor("copy", (BASELINE, EQUAL)),
            Factor("burn", (NO_BURN, *burns)),
            Factor("tls", ("1.3",)),
            Factor("key", ("ecdsa-p256",)),
            Factor("group", ("X25519",)),
        ),
        baseline={"copy": BASELINE, "burn": NO_BURN},
        workload=WORKLOAD,
        blocks=blocks,
        exclusions=tuple(
            Exclusion({"copy": EQUAL, "burn": burn}, "one copy of the slower servers is enough")
            for burn in burns
        ),
    )
