"""Maxima that are not known exactly, in the findings, tiles and captions of a summary."""

import pytest

from factories.capacity import CapacityWorld, Uneven, made_capacity_run
from factories.capacity_summary import FIVE, codes, figure, findings, highest, stated
from tlslab.analysis.capacity import summarise
from tlslab.domain.finding import Summary, Values

pytestmark = pytest.mark.slow

NGINX, APACHE, HAPROXY = (f"server={name},processors=1" for name in ("nginx", "apache", "haproxy"))


def bounded(alone: float = 500.0) -> CapacityWorld:
    """A world in which the generator reaches its limit long before the server."""
    return CapacityWorld(alone=alone, client_us=600.0, seed=5)


def open_codes(summary: Summary, server: str) -> list[str]:
    """The reasons that the answer's finding states for a server."""
    (found,) = findings(summary, "answer")
    return list(found.values["open"][found.cells.index(server)])


def objective(summary: Summary, server: str) -> Values:
    return next(f.values for f in findings(summary, "objective") if f.cells == (server,))


def test_a_maximum_whose_search_ended_in_noise_is_open() -> None:
    worlds = {"nginx": Uneven(alone=1100.0, busy=0.5), "apache": CapacityWorld(seed=3)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert "search_noise" in codes(summary, "nginx")
    first = highest(summary)
    assert (first["cell"], first["open"], first["bound"]) == (NGINX, True, False)
    assert (first["rival"]["cell"], first["rival"]["bound"]) == (APACHE, True)
    assert first["rival"]["ratio"].low > 1.0
    assert open_codes(summary, NGINX) == ["search_noise", "neither_saturated"]
    assert open_codes(summary, APACHE) == []
    assert [each.cells for each in findings(summary, "open")] == [(NGINX,)]
    label = "search inconclusive, not the server's limit"
    assert summary.answer is not None
    assert summary.answer.tiles[0].title == f"New connections/s, {label}"
    assert figure(summary, "maximum").caption.endswith(f" May take more: nginx ({label}).")
    assert objective(summary, NGINX)["open"]
    assert not objective(summary, APACHE)["open"]
    (ratio,) = stated(summary, "platforms")
    assert (ratio["bound"], ratio["ratio"].value < 1) == ("at most", True)


def test_a_busy_server_s_rate_is_compared_at_the_connections_that_a_noisy_search_chose() -> None:
    worlds = {"nginx": Uneven(alone=1100.0), "apache": CapacityWorld(seed=3)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert "search_noise" in codes(summary, "nginx")
    first = highest(summary)
    assert (first["open"], first["bound"]) == (True, False)
    assert (first["rival"]["bound"], first["rival"]["established"]) == (False, True)
    (ratio,) = stated(summary, "platforms")
    assert (ratio["bound"], ratio["at_chosen"]) == ("", True)


def test_a_noisy_search_of_the_rival_is_named_in_the_answer() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0, seed=3), "apache": Uneven(alone=700.0)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert "search_noise" not in codes(summary, "nginx")
    assert "search_noise" in codes(summary, "apache")
    first = highest(summary)
    assert (first["rival"]["cell"], first["others"]) == (APACHE, [APACHE])
    assert APACHE in findings(summary, "open")[0].cells


def test_a_converged_maximum_is_not_open() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld(alone=1100.0)}, FIVE))
    assert not {code for code in codes(summary, "nginx") if code.startswith("search_")}
    first = highest(summary)
    assert (first["open"], first["others"], first["rival"]) == (False, [], None)
    assert summary.answer is not None
    assert summary.answer.tiles[0].title == "Maximum, new connections/s"
    assert open_codes(summary, NGINX) == []
    assert "May take more" not in figure(summary, "maximum").caption


def test_a_rival_that_may_take_more_is_named_beside_the_first() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0), "apache": CapacityWorld(alone=700.0, seed=3)}
    summary = summarise(made_capacity_run({**worlds, "haproxy": bounded()}, FIVE))
    first = highest(summary)
    assert (first["open"], first["rival"]["cell"], first["others"]) == (False, APACHE, [HAPROXY])
    assert first["rival"]["ratio"].value == pytest.approx(1.57, abs=0.07)
    assert findings(summary, "open")[0].cells == (HAPROXY,)
    rate = summary.cell(HAPROXY).left_open["connections_per_s"]
    assert rate == "the generator was the limit"
    assert [each["bound"] for each in stated(summary, "platforms")] == ["", "at least"]


def test_of_two_lower_bounds_nothing_is_known() -> None:
    worlds = {"nginx": bounded(), "apache": bounded(450.0)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert {cell.verdict for cell in summary.cells} == {"at_least"}
    assert [each["bound"] for each in stated(summary, "platforms")] == ["unknown"]


def test_a_maximum_that_other_programs_disturbed_is_open() -> None:
    disturbed = CapacityWorld(alone=1100.0, busy=0.8, taken=0.2)
    contents = made_capacity_run({"nginx": disturbed, "apache": CapacityWorld(seed=3)}, FIVE)
    summary = summarise(contents)
    assert "disturbed" in codes(summary, "nginx")
    assert summary.cell(NGINX).verdict == "valid"
    first = highest(summary)
    assert (first["open"], first["bound"], first["rival"]["bound"]) == (True, False, True)
    assert open_codes(summary, NGINX) == ["disturbed"]
    assert findings(summary, "open")[0].cells == (NGINX,)
    assert summary.answer is not None
    assert summary.answer.tiles[0].title == "New connections/s, disturbed"
    assert stated(summary, "platforms")[0]["bound"] == "at most"
    assert figure(summary, "maximum").caption.endswith(" May take more: nginx (disturbed).")
    assert objective(summary, NGINX)["open"]


def test_a_rival_that_was_disturbed_is_named_and_two_have_no_ratio() -> None:
    worlds = {
        "nginx": CapacityWorld(alone=1100.0),
        "apache": CapacityWorld(alone=700.0, busy=0.8, taken=0.2, seed=3),
    }
    first = highest(summarise(made_capacity_run(worlds, FIVE)))
    assert (first["rival"], first["others"]) == (None, [APACHE])
    both = {name: CapacityWorld(busy=0.8, taken=0.2, seed=n) for n, name in enumerate(worlds)}
    (ratio,) = stated(summarise(made_capacity_run(both, FIVE)), "platforms")
    assert (ratio["bound"], ratio["steady"]) == ("unknown", True)
