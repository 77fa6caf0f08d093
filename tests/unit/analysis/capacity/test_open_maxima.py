"""Maxima that are not known exactly, in the sentences, tiles and captions of a summary."""

import re

import pytest

from factories.capacity import CapacityWorld, Uneven, made_capacity_run
from factories.capacity_summary import FIVE, codes, figure, first_sentence, texts
from factories.worded import summarise

pytestmark = pytest.mark.slow


def bounded(alone: float = 500.0) -> CapacityWorld:
    """A world in which the generator reaches its limit long before the server."""
    return CapacityWorld(alone=alone, client_us=600.0, seed=5)


def test_a_maximum_whose_search_ended_in_noise_is_not_crowned() -> None:
    worlds = {"nginx": Uneven(alone=1100.0, busy=0.5), "apache": CapacityWorld(seed=3)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert "search_noise" in codes(summary, "nginx")
    text = first_sentence(summary)
    assert text.startswith("Nginx: 4,")
    assert re.search(r"\) new connections/s or more, at least 1\.\d+ times that of apache\.$", text)
    assert summary.answer is not None
    label = "search inconclusive, not the server's limit"
    assert summary.answer.tiles[0].title == f"New connections/s, {label}"
    (objective,) = [t for t in texts(summary, "objective") if t.startswith("nginx")]
    assert re.search(r", at most \d+ % \(95 %: \d+ to \d+\) of the maximum\.$", objective)
    (maxima,) = texts(summary, "answer")
    assert f" at once ({label}); apache: " in maxima
    assert texts(summary, "open") == [
        "Maxima that are not known exactly, and why: nginx (the search for the maximum was "
        "inconclusive (noise), and neither the server nor the generator was busy all the time)."
    ]
    assert "apache takes at most 0." in texts(summary, "platforms")[0]
    assert figure(summary, "maximum").caption.endswith(f" May take more: nginx ({label}).")
    assert "at most" in next(t for t in texts(summary, "objective") if t.startswith("nginx"))


def test_a_busy_server_s_rate_is_compared_at_the_connections_that_a_noisy_search_chose() -> None:
    worlds = {"nginx": Uneven(alone=1100.0), "apache": CapacityWorld(seed=3)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert "search_noise" in codes(summary, "nginx")
    text = first_sentence(summary)
    assert re.search(r" or more, 1\.\d+ times \(95 %: 1\.\d+ to 1\.\d+\) that of apache\.$", text)
    (platforms,) = texts(summary, "platforms")
    assert platforms.startswith("apache takes 0.")
    assert platforms.endswith(
        " of nginx on 1 processor, at the connections at once that the searches chose "
        "(inconclusive: noise)."
    )


def test_a_noisy_search_of_the_rival_is_named_in_the_answer() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0, seed=3), "apache": Uneven(alone=700.0)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert codes(summary, "nginx").isdisjoint({"search_noise"})
    assert "search_noise" in codes(summary, "apache")
    assert first_sentence(summary).endswith(" that of apache; apache may take more.")
    (open_,) = texts(summary, "open")
    assert open_.endswith(" apache (the search for the maximum was inconclusive (noise)).")


def test_a_converged_maximum_has_none_of_these_words() -> None:
    summary = summarise(made_capacity_run({"nginx": CapacityWorld(alone=1100.0)}, FIVE))
    assert not {code for code in codes(summary, "nginx") if code.startswith("search_")}
    text = first_sentence(summary)
    assert text.endswith(" new connections/s at most.")
    assert "may take more" not in text
    assert summary.answer is not None
    assert summary.answer.tiles[0].title == "Maximum, new connections/s"
    assert "search inconclusive" not in texts(summary, "answer")[0]
    assert "ay take more" not in figure(summary, "maximum").caption


def test_a_rival_that_may_take_more_is_named_beside_the_first() -> None:
    worlds = {"nginx": CapacityWorld(alone=1100.0), "apache": CapacityWorld(alone=700.0, seed=3)}
    summary = summarise(made_capacity_run({**worlds, "haproxy": bounded()}, FIVE))
    text = first_sentence(summary)
    assert "new connections/s at most, 1.5" in text
    assert text.endswith("that of apache; haproxy may take more.")
    assert "haproxy (the generator was the limit)" in texts(summary, "open")[0]
    assert "haproxy takes at least 0." in texts(summary, "platforms")[1]


def test_of_two_lower_bounds_nothing_is_said() -> None:
    worlds = {"nginx": bounded(), "apache": bounded(450.0)}
    summary = summarise(made_capacity_run(worlds, FIVE))
    assert {cell.verdict for cell in summary.cells} == {"at_least"}
    assert texts(summary, "platforms") == [
        "Whether apache takes more connections/s than nginx on 1 processor is not known: both may "
        "take more than was measured."
    ]


def test_a_maximum_that_other_programs_disturbed_is_not_crowned() -> None:
    disturbed = CapacityWorld(alone=1100.0, busy=0.8, taken=0.2)
    contents = made_capacity_run({"nginx": disturbed, "apache": CapacityWorld(seed=3)}, FIVE)
    summary = summarise(contents)
    assert "disturbed" in codes(summary, "nginx")
    assert summary.cell("server=nginx,processors=1").verdict == "valid"
    text = first_sentence(summary)
    assert re.search(r"\) new connections/s or more, at least 1\.\d+ times that of apache\.$", text)
    assert "nginx (other programs took a part of the server's" in texts(summary, "open")[0]
    assert summary.answer is not None
    assert summary.answer.tiles[0].title == "New connections/s, disturbed"
    assert " at once (disturbed); apache: " in texts(summary, "answer")[0]
    assert "apache takes at most 0." in texts(summary, "platforms")[0]
    assert figure(summary, "maximum").caption.endswith(" May take more: nginx (disturbed).")
    assert "at most" in next(t for t in texts(summary, "objective") if t.startswith("nginx"))


def test_a_rival_that_was_disturbed_is_named_and_two_have_no_ratio() -> None:
    worlds = {
        "nginx": CapacityWorld(alone=1100.0),
        "apache": CapacityWorld(alone=700.0, busy=0.8, taken=0.2, seed=3),
    }
    text = first_sentence(summarise(made_capacity_run(worlds, FIVE)))
    assert text.endswith(" new connections/s at most; apache may take more.")
    both = {name: CapacityWorld(busy=0.8, taken=0.2, seed=n) for n, name in enumerate(worlds)}
    (platforms,) = texts(summarise(made_capacity_run(both, FIVE)), "platforms")
    assert platforms.endswith(" is not known: both may take more than was measured.")
