"""The highest load that meets an objective, with its reservation."""

from tlslab.analysis.capacity.points import capacity
from tlslab.domain.loads import Load


def load(offered: float, outcome: str, runs: int = 3) -> Load:
    return Load(offered / 1000, offered, runs, 1.0, outcome)  # type: ignore[arg-type]


def test_a_confirmed_answer_has_a_load_above_that_met_the_objective_too() -> None:
    found = capacity([load(3200, "met", 1), load(3360, "met", 2), load(3528, "missed", 1)])
    assert found is not None
    assert (found.bound, found.load.value, found.n) == ("between", 3200.0, 1)
    assert (found.load.low, found.load.high, found.load.unit) == (None, None, "1/s")
    assert found.load.method == "the highest load that met the objective, also with 5% more"
    assert found.is_confirmed


def test_other_answers_are_not_confirmed() -> None:
    coarse = capacity([load(1600, "met"), load(3200, "met"), load(3500, "missed")])
    few = capacity([load(3200, "met"), load(3360, "met", 1), load(3528, "late")])
    assert coarse is not None
    assert few is not None
    assert (coarse.load.value, coarse.is_confirmed, few.is_confirmed) == (3200.0, False, False)
    assert (few.bound, few.missed) == ("at_least", None)


def test_no_load_that_met_is_a_bound_from_above() -> None:
    found = capacity([load(400, "missed"), load(800, "met")])
    assert found is not None
    assert (found.bound, found.load.value, found.is_confirmed) == ("below", 400.0, False)


def test_short_or_late_runs_say_nothing() -> None:
    assert capacity([]) is None
    assert capacity([load(400, "short"), load(800, "late")]) is None
