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
from tlslab.studies.suites.diffie_hellman import Load, handshake_share, keep_alive_bound, sizes
from tlslab.studies.suites.places import places


@pytest.fixture(scope="module")
def study() -> Additions:
    return additions(all_cells(), STUDY)


def test_the_size_makes_handshakes_dear_and_leaves_requests_alone(study: Additions) -> None:
    ratios = stated(study, "dh_handshake")["ratios"]
    assert ratios[1024].value == pytest.approx(0.7, abs=0.01)
    assert ratios[4096].value == pytest.approx(2.67, abs=0.03)
    assert stated(study, "dh_keep_alive")["differing"] == []
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
    assert stated(study, "dh_keep_alive")["differing"] == [1024]
    assert stated(study, "dh_share")["verdict"] == "seen_again"


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
    assert stated(found, "dh_keep_alive")["differing"] == []
    share = stated(found, "dh_share")
    assert share["verdict"] == "open"
    assert share["open"] < 0.01


def test_the_bound_of_sizes_is_never_said_to_be_less() -> None:
    for noise in np.linspace(0.02, 0.04, 10).tolist():
        cells = [cell(DHE, 20.0, DH_US[bits], bits, noise) for bits in (1024, 2048, 4096)]
        (place,) = places(cells)
        bound = keep_alive_bound(sizes(place, Load(128, 10, 1))[DHE])
        assert bound is not None
        text = said(additions(cells, STUDY))["dh_keep_alive"]
        found = re.search(r"each interval by itself leaves (\d+) % open at most\.$", text)
        assert found is not None
        assert 100 * bound <= int(found[1])


def test_a_size_without_a_valid_result_is_named_and_not_compared() -> None:
    first, *others = of_sizes(dict.fromkeys((1024, 2048, 4096), 20.0))
    invalid = Measured(replace(first.summary, verdict="invalid"), first.values)
    found = additions([invalid, *others], STUDY)
    for code in ("dh_handshake", "dh_keep_alive"):
        assert stated(found, code)["without"] == {1024: False}
        assert set(stated(found, code)["ratios"]) == {4096}
    share = stated(found, "dh_share")
    assert set(share["shares"]) == {2048, 4096}
    assert share["verdict"] is None
    table = next(table for table in found.tables if table.id.startswith("dh"))
    assert table.rows[0][3] == table.rows[0][5] == "not comparable"
    assert table.rows[0][6] is None


def test_the_size_that_others_are_compared_with_is_named() -> None:
    found = additions(of_sizes({4096: 20.0, 3072: 20.0}), STUDY)
    assert stated(found, "dh_handshake")["against"] == 3072
    assert stated(found, "dh_keep_alive")["against"] == 3072
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
    share = handshake_share(one, Load(connections=128, seconds=10, processors=1))
    assert share is not None
    assert share.value == pytest.approx(128 * 1500e-6 / 10)
    halved = handshake_share(one, Load(connections=128, seconds=10, processors=2))
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
