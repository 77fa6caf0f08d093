"""Files of capacity experiments: reading, rejection, writing."""

from dataclasses import replace
from importlib import resources

import pytest

from tlslab.domain.capacity import CapacityPlan, Objective, parse_objective, plan_of
from tlslab.domain.errors import ExperimentError, UsageError
from tlslab.experiment import dumps, file_kind, load, loads
from tlslab.experiment.capacity import required_objective

FILE = resources.files("tlslab") / "studies" / "capacity" / "capacity.toml"
TEXT = FILE.read_text("utf-8")


def plan(text: str = TEXT, quick: bool = False) -> CapacityPlan:
    settings = loads(text, "capacity.toml", "quick" if quick else "").settings
    assert isinstance(settings, CapacityPlan)
    return settings


def test_the_shipped_experiment_has_the_studys_steps() -> None:
    found = plan()
    assert found.open_loop.fractions == (0.2, 0.4, 0.6, 0.8, 1.0)
    assert (found.open_loop.trials, found.maximum.trials) == (5, 5)
    assert found.remedies is not None
    assert found.remedies.resume_ratios == (0.0, 0.5, 0.9)
    assert found.remedies.trials == 5
    assert found.remedies.requests_per_connection == (1, 4, 16)
    assert found.obsolete is not None
    assert found.obsolete.levels["tls"] == "ssl3"
    experiment = load("capacity")
    assert experiment.workload.document_bytes == 2048
    assert experiment.workload.resume == "none"
    assert experiment.levels("processors") == ("1", "2")


def test_quick_changes_what_it_names_and_nothing_else() -> None:
    full, quick = plan(), plan(quick=True)
    assert quick.search.first == 8
    assert quick.search.growth == full.search.growth
    assert quick.open_loop.fractions == full.open_loop.fractions
    assert quick.open_loop.window.measure_ms < full.open_loop.window.measure_ms
    assert quick.objective == full.objective


@pytest.mark.parametrize("quick", [False, True])
def test_a_written_experiment_is_read_back(quick: bool) -> None:
    experiment = load("capacity", "quick" if quick else "")
    settings = experiment.settings
    bare = replace(settings, remedies=None, validation=None, obsolete=None, objective=None)
    loop = replace(settings.open_loop, patience_ms=8000, retries=1)
    patient = replace(settings, open_loop=loop)
    for each in (experiment, *(replace(experiment, settings=s) for s in (bare, patient))):
        again = loads(dumps(each), "again.toml")
        assert replace(again, quick=each.quick) == each


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("first = 4", "first = 0", "capacity.search.first: must be a whole number from 1"),
        ("growth = 2.0", "growth = 1.0", "must be a number from 1.1"),
        ("growth = 2.0", 'growth = "2"', "capacity.search.growth: must be a number"),
        ("most = 8", "most = 2", "must be a whole number from 5"),
        ('arrivals = "poisson"', 'arrivals = "normal"', "must be one of constant, poisson"),
        ('arrivals = "poisson"', "retries = 1", "capacity.open_loop.retries: needs patience_ms"),
        ('arrivals = "poisson"', "patience_ms = 0", "must be a whole number from 1"),
        ("fractions = [0.1, 0.2]", "fractions = []", "must be a list of numbers"),
        ("fractions = [0.1, 0.2]", "fractions = [0.2, 2]", "must have numbers from 0.001 to 1"),
        ('resume = "psk"', 'resume = "none"', "must be one of id, ticket, psk"),
        ("[1, 4, 16]", "[1, 1.5]", "must be whole numbers"),
        (
            'objective = "p99<50ms"',
            'objective = "fast"',
            "capacity.objective: must have the form p99<50ms",
        ),
        ("fresh_server = true", "fresh_server = 1", "must be true or false"),
        ('tls = "ssl3"', 'tls = "ssl2"', "unknown name 'ssl2'; known: none, 1.2, 1.3, ssl3"),
        ("[capacity.maximum]", "[capacity.minimum]", "capacity.minimum: unknown key"),
        ('kind = "capacity"', 'kind = "matrix"', "capacity: unknown key"),
    ],
)
def test_faults_are_reported_by_line_and_key(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ExperimentError, match=r"capacity\.toml:[0-9]+: ") as caught:
        loads(TEXT.replace(old, new, 1), "capacity.toml")
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("p99<50ms", Objective("p99", 50)),
        (" mean < 1.5s ", Objective("mean", 1500)),
        ("p42<50ms", None),
        ("p99<0ms", None),
        ("p99<50", None),
    ],
)
def test_objectives(text: str, objective: Objective | None) -> None:
    assert parse_objective(text) == objective
    if objective is not None:
        assert parse_objective(str(objective)) == objective


def test_a_wrong_objective_says_what_is_right() -> None:
    with pytest.raises(UsageError, match="must have the form p99<50ms"):
        required_objective("fast")


def test_a_quick_run_with_an_objective_answers_it_alone() -> None:
    experiment = load("capacity", "quick")
    brief = file_kind(experiment).briefly_within(experiment)
    settings = brief.settings
    assert isinstance(settings, CapacityPlan)
    assert (brief.levels("processors"), settings.remedies, settings.validation) == (
        ("1",),
        None,
        None,
    )
    usual = plan_of(experiment).within
    assert settings.within is not None
    assert usual is not None
    assert settings.within.most > usual.most
