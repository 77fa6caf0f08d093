"""The suites study: the cost of the size of Diffie-Hellman parameters."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from factories.suite_cells import DH_US, STUDY, all_cells, cell, request_us, said, stated
from tlslab.analysis.compare import Measured
from tlslab.analysis.stats.families import false_discovery
from tlslab.studies.study import Additions
from tlslab.studies.suites import additions
from tlslab.studies.suites.diffie_hellman import Load, handshake_share, sizes
from tlslab.studies.suites.places import places


@pytest.fixture(scope="module")
def study() -> Additions:
    return additions(all_cells(), STUDY)


def test_the_size_makes_handshakes_dear_and_leaves_requests_alone(study: Additions) -> None:
    found = stated(study, "dh_sizes")
    assert found["handshakes"][1024].value == pytest.approx(0.7, abs=0.01)
    assert found["handshakes"][4096].value == pytest.approx(2.67, abs=0.03)
    assert found["differing"] == []
    assert 0 < found["within"] < 0.02
    share = stated(study, "dh_share")
    assert share["verdict"] == "open"
    assert 0 < share["open"] < 0.1
    table = next(table for table in study.tables if table.id.startswith("dh"))
    assert [row[1] for row in table.rows] == [1024, 2048, 3072, 4096]


def test_a_real_difference_between_sizes_is_reported() -> None:
    cells = all_cells()
    slow = cell("DHE-RSA-AES128-GCM-SHA256", request_us("GCM") * 1.3, DH_US[1024], 1024)
    cells = [slow if c.summary.key == slow.summary.key else c for c in cells]
    study = additions(cells, STUDY)
    assert stated(study, "dh_sizes")["differing"] == [1024]
    assert stated(study, "dh_share")["verdict"] == "seen_again"


def test_all_suites_answer_together() -> None:
    """A difference that most suites by themselves do not establish, and all nine together do."""
    names = [name for name in STUDY["order"] if name.startswith("DHE-")]
    assert len(names) == 9
    cells = [
        cell(name, 20.0 if bits == 2048 else 20.45, DH_US[bits], bits, noise=0.03)
        for name in names
        for bits in (1024, 2048)
    ]
    (place,) = places(cells)
    alone = [rows[0].keep_alive for rows in sizes(place, Load(128, 10, 1)).values()]
    assert sum(each is not None and each.differs for each in alone) < len(names) / 2
    found = stated(additions(cells, STUDY), "dh_sizes")
    assert (found["matches"], found["differing"]) == (9, [1024])


def test_a_suite_of_one_size_takes_no_part(study: Additions) -> None:
    assert stated(study, "dh_sizes")["matches"] == 1


def test_generated_parameters_stand_beside_standard_ones_of_their_size() -> None:
    cells = [
        *(cell(DHE, 20.0, DH_US[bits], bits) for bits in (1024, 2048)),
        cell(DHE, 20.0, 2 * DH_US[1024], "1024-generated"),
        cell(DHE, 20.0, 3 * DH_US[2048], "2048-generated"),
    ]
    (place,) = places(cells)
    assert [c.summary.factors["dh_bits"] for c in place.usual] == ["2048"]
    study = additions(cells, STUDY)
    found = stated(study, "dh_generated")
    assert found["handshakes"][1024].value == pytest.approx(2, abs=0.02)
    assert found["handshakes"][2048].value == pytest.approx(3, abs=0.03)
    assert found["differing"] == []
    # They take no part in what the size costs.
    assert list(stated(study, "dh_sizes")["handshakes"]) == [1024]
    shares = stated(study, "dh_share")["shares"]
    assert list(shares) == ["1024", "2048", "1024, generated", "2048, generated"]
    assert "with 2048, generated" in said(study)["dh_share"]


@pytest.mark.parametrize("noise", [0.0005, 0.01, 0.1])
def test_no_run_without_a_difference_names_a_cause(noise: float) -> None:
    """The sentence follows the run's ratio: however narrow, it does not say what the study saw."""
    found = [cell(DHE, 20.0, DH_US[bits], bits, noise) for bits in (1024, 2048, 4096)]
    assert stated(additions(found, STUDY), "dh_share")["verdict"] == "open"


DHE = "DHE-RSA-AES128-GCM-SHA256"


def of_sizes(request_us: Mapping[int, float]) -> list[Measured]:
    """One suite at these sizes, with these microseconds per request, with hardly any noise."""
    return [cell(DHE, cost, DH_US[bits], bits, 0.0005) for bits, cost in request_us.items()]


@pytest.mark.parametrize("ratio", [0.994, 1.006])
def test_a_difference_that_matters_to_nobody_is_none_in_both_sentences(ratio: float) -> None:
    cells = of_sizes({1024: 20.0 / ratio, 2048: 20.0, 4096: 20.0})
    (place,) = places(cells)
    small = sizes(place, Load(128, 10, 1))[DHE][0].keep_alive
    assert small is not None
    assert small.differs
    found = additions(cells, STUDY)
    assert stated(found, "dh_sizes")["differing"] == []
    share = stated(found, "dh_share")
    assert share["verdict"] == "open"
    assert share["open"] < 0.01


def test_the_bound_of_sizes_is_never_said_to_be_less() -> None:
    for noise in np.linspace(0.02, 0.04, 10).tolist():
        cells = [cell(DHE, 20.0, DH_US[bits], bits, noise) for bits in (1024, 2048, 4096)]
        study = additions(cells, STUDY)
        within = stated(study, "dh_sizes")["within"]
        found = re.search(r"one of over (\d+) % is excluded", said(study)["dh_sizes"])
        assert found is not None
        assert 100 * within <= int(found[1])


def test_a_size_without_a_valid_result_is_named_and_not_compared() -> None:
    first, *others = of_sizes(dict.fromkeys((1024, 2048, 4096), 20.0))
    invalid = Measured(replace(first.summary, verdict="invalid"), first.values)
    found = additions([invalid, *others], STUDY)
    values = stated(found, "dh_sizes")
    assert set(values["handshakes"]) == set(values["requests"]) == {4096}
    assert f"without {DHE} with 1024 bits" in said(found)["dh_sizes"]
    share = stated(found, "dh_share")
    assert set(share["shares"]) == {"2048", "4096"}
    assert share["verdict"] is None
    table = next(table for table in found.tables if table.id.startswith("dh"))
    assert table.rows[0][3] == table.rows[0][5] == "not comparable"
    assert table.rows[0][6] is None


def test_the_size_that_others_are_compared_with_is_named() -> None:
    found = additions(of_sizes({4096: 20.0, 3072: 20.0}), STUDY)
    assert stated(found, "dh_sizes")["against"] == 3072
    captions = [table.caption for table in found.tables]
    captions += [figure.caption for figure in found.figures]
    assert sum("DHE with 3072 bits." in caption for caption in captions) == 4
    assert any("Ratios to 3072 bits" in caption for caption in captions)
    texts = [*captions, *said(found).values()]
    assert not any("2048" in text for text in texts)
    (alone,) = places([cell("AES128-SHA", 20.0, 300.0)])
    assert alone.dhe_words == ""


def test_the_share_of_handshakes_is_arithmetic() -> None:
    one = cell("DHE-RSA-AES128-GCM-SHA256", 20.0, 1520.0, 2048, noise=0.0)
    share = handshake_share([one], Load(connections=128, seconds=10, processors=1))
    assert share is not None
    assert share.value == pytest.approx(128 * 1500e-6 / 10)
    halved = handshake_share([one], Load(connections=128, seconds=10, processors=2))
    assert halved is not None
    assert halved.value == pytest.approx(share.value / 2)


def test_all_sizes_are_one_family() -> None:
    """Six ratios at 5 % each would find a false difference in a quarter of the runs."""
    (place,) = places(all_cells())
    rows = [row for each in sizes(place, Load(128, 10, 1)).values() for row in each]
    found = [c for row in rows for c in (row.handshake, row.keep_alive) if c is not None]
    assert len(found) >= 6
    p = [each.p for each in found if each.p is not None]
    assert [each.adjusted_p for each in found] == pytest.approx(false_discovery(p))
