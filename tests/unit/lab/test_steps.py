"""The specification of a step, and whether the engine accepts it."""

from dataclasses import replace

import pytest

from tlslab.domain.capacity import CapacityPlan, Step
from tlslab.domain.errors import UsageError
from tlslab.domain.profile import Profile
from tlslab.domain.workload import Window, Workload
from tlslab.experiment import load
from tlslab.experiment.cells import obsolete_cell
from tlslab.lab.capacity.capacity_run import for_external
from tlslab.lab.specs import Aim, is_obsolete, step_spec

AIM = Aim("https://127.0.0.1:1/", processors=(1,))
WINDOW = Window(100, 500)
WORKLOAD = Workload(2048, 64, 1)
PROFILE = Profile(tls="1.3", groups=("X25519",))


def test_a_closed_loop_is_lean_and_has_no_rate() -> None:
    spec = step_spec(AIM, PROFILE, WORKLOAD, Step("search", 0, 0, 32, WINDOW))
    assert spec["connections"] == 32
    assert spec["stop"] == {"duration_ms": 500}
    assert spec["tls"]["authenticate"] == "sampled"
    assert "load" not in spec
    assert "resume" not in spec["tls"]


def test_an_open_loop_has_its_rate_and_arrivals_of_its_own() -> None:
    step = Step("open_loop", 3, 1, 2000, WINDOW, rate=812, fraction=0.4)
    spec = step_spec(AIM, PROFILE, WORKLOAD, step)
    load = {"rate": {"constant": 812.0}, "arrivals": "poisson", "realtime": False, "seed": 2}
    assert spec["load"] == load
    spec = step_spec(replace(AIM, realtime=True), PROFILE, WORKLOAD, step)
    assert spec["load"] == load | {"realtime": True}
    patient = replace(step, patience_ms=8000, retries=1)
    spec = step_spec(AIM, PROFILE, WORKLOAD, patient)
    assert spec["load"] == load | {"patience_ms": 8000, "retries": 1}


def test_remedies_change_one_thing_each() -> None:
    many = Step("remedy", 6, 0, 32, WINDOW, requests_per_connection=16)
    assert step_spec(AIM, PROFILE, WORKLOAD, many)["requests_per_connection"] == {"count": 16}
    resumed = Step("remedy", 7, 0, 32, WINDOW, serves="psk", resume_ratio=0.9)
    tls = step_spec(AIM, PROFILE, WORKLOAD, resumed)["tls"]
    assert (tls["resume"], tls["resume_ratio"]) == ("psk", 0.9)


def test_obsolete_protocols_are_asked_for_in_so_many_words() -> None:
    plan = load("capacity").settings
    assert isinstance(plan, CapacityPlan)
    assert plan.obsolete is not None
    cell = obsolete_cell(plan.obsolete)
    assert cell.deployment is not None
    assert cell.deployment.obsolete
    assert cell.profile.backend == "openssl"
    spec = step_spec(AIM, cell.profile, WORKLOAD, Step("search", 0, 0, 4, WINDOW))
    assert spec["tls"]["allow_obsolete"]
    assert spec["tls"]["key_share"] == "fresh"
    assert not is_obsolete(PROFILE)
    assert "allow_obsolete" not in step_spec(AIM, PROFILE, WORKLOAD, _plain())["tls"]


def _plain() -> Step:
    return Step("search", 0, 0, 4, WINDOW)


def test_processors_of_somebody_elses_server_are_no_factor() -> None:
    experiment = load("capacity")
    changed = for_external(experiment, replace(experiment.settings, obsolete=None))
    assert changed.levels("processors") == ()
    assert changed.baseline == {}
    assert changed.settings.remedies.when == {}


def test_obsolete_settings_are_for_servers_that_the_lab_starts() -> None:
    experiment = load("capacity")
    assert experiment.settings.obsolete is not None
    with pytest.raises(UsageError, match="--allow-obsolete is for servers that the lab starts"):
        for_external(experiment, experiment.settings)
