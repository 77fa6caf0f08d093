"""The cells that a calibration plans, and the settings of the server for each."""

import pytest

from tlslab.domain.errors import ExperimentError, UsageError
from tlslab.domain.workload import resumption
from tlslab.experiment import dumps, file_kind, load, loads, make_cells, with_levels

CALIBRATE = load("calibrate")


def factors_of(changes: dict[str, tuple[str, ...]]) -> list[dict[str, str]]:
    return [dict(cell.factors) for cell in make_cells(with_levels(CALIBRATE, changes))[0]]


def test_each_level_is_measured_by_itself_and_no_product_of_all() -> None:
    cells = [dict(cell.factors) for cell in make_cells(CALIBRATE)[0]]
    middle = cells[0]
    single = [c for c in cells if sum(c[name] != middle[name] for name in c) == 1]
    levels = {(name, c[name]) for c in single for name in c if c[name] != middle[name]}
    assert {("key", "rsa-2048"), ("resumed", "100%"), ("requests", "16")} <= levels
    assert len(cells) == 20


def test_other_levels_take_their_place_and_mixes_without_theirs_are_dropped() -> None:
    cells = factors_of({"group": ("P-256", "P-521"), "key": ("rsa-2048",)})
    assert cells[0]["group"] == "P-256"
    assert {c["group"] for c in cells} == {"P-256", "P-521"}
    assert {c["key"] for c in cells} == {"rsa-2048"}
    # In a mix a quantity may have any level.
    assert any(c["resumed"] == "60%" for c in cells)


def test_cells_of_tls_1_2_resume_by_ticket_and_have_a_suite_of_their_own() -> None:
    cells = make_cells(CALIBRATE)[0]
    by_version = {cell.factors["tls"]: cell for cell in cells}
    old, new = by_version["1.2"], by_version["1.3"]
    assert old.deployment is not None
    assert new.deployment is not None
    assert (old.deployment.resume, new.deployment.resume) == ("ticket", "psk")
    assert old.factors["suite"] == "by-version"
    assert all(suite.startswith("TLS_ECDHE_") for suite in old.profile.suites)


def test_another_document_is_another_deployment() -> None:
    cells = make_cells(CALIBRATE)[0]
    for cell in cells:
        assert cell.deployment is not None
        assert cell.deployment.levels.get("document_bytes") == cell.factors["document_bytes"]


@pytest.mark.parametrize(
    ("factors", "otherwise", "way"),
    [
        ({"resumed": "60%"}, "none", "psk"),
        ({"resumed": "60%", "tls": "1.2"}, "none", "ticket"),
        ({"resumed": "60%", "tls": "1.2"}, "psk", "ticket"),
        ({"resumed": "60%", "tls": "1.2"}, "id", "id"),
        ({"resumed": "60%", "resume": "psk-only"}, "none", "psk-only"),
        ({"resume": "id"}, "none", "id"),
        ({"tls": "1.2"}, "psk", "psk"),
    ],
)
def test_the_share_that_resumes_needs_a_way_of_its_version(
    factors: dict[str, str], otherwise: str, way: str
) -> None:
    assert resumption(factors, otherwise) == way


def test_a_workload_has_the_levels_of_its_cell() -> None:
    levels = {"tls": "1.3", "resumed": "60%", "requests": "8"}
    found = CALIBRATE.workload.of(levels)
    assert (found.resume, found.resume_ratio, found.requests_per_connection) == ("psk", 0.6, 8)


def test_a_calibration_file_is_read_back() -> None:
    again = loads(dumps(CALIBRATE), "again")
    assert again.design == CALIBRATE.design
    assert make_cells(again) == make_cells(CALIBRATE)


@pytest.mark.parametrize(
    ("text", "replaced", "words"),
    [
        ('resumed = "60%"', 'resumed = "160%"', "percentages from 0% to 100%"),
        ('resumed = "60%"', 'groups = "X25519"', "unknown key"),
        ("[workload.capacity]", "[workload.client_cost]", "the key 'capacity' is missing"),
    ],
)
def test_a_faulty_file_is_refused(text: str, replaced: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words):
        loads(dumps(CALIBRATE).replace(text, replaced, 1), "faulty.toml")


def test_an_end_by_the_answer_is_refused() -> None:
    with pytest.raises(UsageError, match="needs every cell in every block"):
        file_kind(CALIBRATE).with_stopping(CALIBRATE, 0.02, None)
