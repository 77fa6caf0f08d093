"""Findings on one setting, from cells with chosen values."""

from factories.measured import measured
from tlslab.analysis.matrix.findings import findings
from tlslab.analysis.ranking import rank
from tlslab.domain.run import TargetInfo

NGINX = TargetInfo("nginx", True, "nginx/1.22.1", "OpenSSL 3.0", (0,), "127.0.0.1", "/")
STEADY = [0.001, -0.001] * 4
NOISY = [0.08, -0.08] * 4


def test_the_first_is_ahead_of_what_it_beats_itself() -> None:
    """A is noisy. B, which ties with A, is known to be better than C; A is not."""
    cells = [
        measured({"group": "A"}, [0.06 + each for each in NOISY]),
        measured({"group": "B"}, [0.05 + each for each in STEADY]),
        measured({"group": "C"}, [-each for each in STEADY]),
    ]
    first, second, third = rank(cells, "connections_per_s")
    assert (first.beats, second.beats, third.best) == ((), (2,), 2)
    targets = {cell.summary.key: NGINX for cell in cells}
    (answer,) = findings(cells, {"group": "A"}, targets)
    assert (answer.values["best"], answer.values["times"]) == ("group=A", [])
    left = answer.values["ties"]
    assert [each["cell"] for each in (*left["near"], *left["apart"])] == ["group=B"]


def test_the_best_and_the_slowest_of_those_behind_are_named() -> None:
    cells = [
        measured({"group": name}, [at + each for each in STEADY])
        for name, at in (("A", 0.3), ("B", 0.2), ("C", 0.1), ("D", 0.0))
    ]
    (answer,) = findings(cells, {"group": "A"}, {cell.summary.key: NGINX for cell in cells})
    assert [each["cell"] for each in answer.values["times"]] == ["group=B", "group=D"]
