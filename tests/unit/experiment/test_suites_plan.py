"""The plan of the suites study: every suite once, and sizes only for suites that use them."""

from collections import Counter
from dataclasses import replace

import pytest

from tlslab.domain.errors import ExperimentError
from tlslab.domain.names import find_suite
from tlslab.experiment import dumps, load, loads, make_cells, with_levels
from tlslab.lab.specs import tls_spec
from tlslab.servers import lacking
from tlslab.studies.suites import SUITES as STUDY

SUITES = load("suites")
ALL, EXCLUDED = make_cells(SUITES, "nginx")
CELLS = [cell for cell in ALL if cell.factors["tls"] == "1.2"]


def test_all_suites_of_the_study_are_there_over_both_versions_of_http() -> None:
    order = STUDY.figures()["order"]
    measured = Counter((cell.factors["suite"], cell.factors["http"]) for cell in CELLS)
    for name in order:
        suite = find_suite(name)
        assert suite is not None
        for http in ("1.1", "2"):
            sized = name == order[0]
            assert measured[suite.name, http] == (4 if sized else 1), (name, http)


def test_ecdhe_suites_have_counterparts_with_an_ecdsa_certificate() -> None:
    names = {cell.factors["suite"] for cell in CELLS}
    rsa = {name for name in names if "_ECDHE_RSA_" in name}
    assert len(rsa) == 6
    assert {name.replace("_RSA_", "_ECDSA_") for name in rsa} <= names


def test_sizes_belong_to_diffie_hellman_suites() -> None:
    for cell in CELLS:
        assert ("_DHE_" in cell.factors["suite"]) == (cell.factors["dh_bits"] != "none")
        assert cell.deployment is not None
        size = cell.deployment.levels.number("dh_bits")
        assert size == (None if cell.factors["dh_bits"] == "none" else int(cell.factors["dh_bits"]))
        assert cell.profile.levels.number("dh_bits") == size
    assert {each.factors["suite"].partition("_WITH_")[0] for each in EXCLUDED} == {"TLS_DHE_RSA"}
    assert {each.factors["dh_bits"] for each in EXCLUDED} == {"1024", "3072", "4096"}


def test_a_server_is_set_up_for_each_size_and_once_for_all_others() -> None:
    assert len({cell.deployment for cell in CELLS}) == 5


def test_http_without_tls_has_a_cell_and_a_server_for_each_version() -> None:
    plain = [cell for cell in ALL if cell.factors["tls"] == "none"]
    assert [cell.key for cell in plain] == [
        f"dh_bits=none,tls=none,suite=by-version,http={version}" for version in ("2", "1.1")
    ]
    deployments = [cell.deployment for cell in plain if cell.deployment is not None]
    assert [(d.plain, d.prior_knowledge) for d in deployments] == [(True, True), (True, False)]
    assert all(tls_spec(cell.profile) == {} for cell in plain)
    assert [lacking(d) is None for d in deployments] == [True, True]
    assert "HTTP/2 without TLS" in (lacking(replace(deployments[0], server="apache")) or "")


def test_the_certificate_is_the_one_that_the_suite_needs() -> None:
    for cell in CELLS:
        ecdsa = "_ECDSA_" in cell.factors["suite"]
        assert cell.profile.key == ("ecdsa-p256" if ecdsa else "rsa-2048")
        assert cell.profile.groups == (("X25519",) if "_ECDHE_" in cell.factors["suite"] else ())


def test_one_library_makes_all_handshakes_and_checks_the_size() -> None:
    for cell in CELLS:
        spec = tls_spec(cell.profile)
        assert spec["backend"] == "openssl"
        small = cell.factors["dh_bits"] == "1024"
        assert spec.get("allow_obsolete", False) == small
        assert spec.get("dh_bits") == cell.profile.levels.number("dh_bits")


def test_the_quick_form_still_has_all_sizes_and_fits_into_two_minutes() -> None:
    quick = load("suites", "quick")
    cells, _ = make_cells(quick, "nginx")
    assert {cell.factors["dh_bits"] for cell in cells} == {"none", "1024", "2048", "3072", "4096"}
    assert len(cells) * quick.blocks * (quick.workload.trial_seconds + 0.6) < 120


def test_the_file_is_written_as_it_is_read() -> None:
    assert loads(dumps(SUITES), "again") == SUITES


def test_a_set_size_keeps_the_baseline_of_suites_without_one() -> None:
    changed = with_levels(SUITES, {"dh_bits": ("2048",)})
    assert changed.baseline["dh_bits"] == "none"
    assert {cell.factors["dh_bits"] for cell in make_cells(changed)[0]} == {"none", "2048"}


def test_a_key_that_is_set_excludes_what_does_not_fit() -> None:
    changed = with_levels(SUITES, {"key": ("rsa-4096",)})
    cells, excluded = make_cells(replace(changed, exclusions=()))
    assert {cell.profile.key for cell in cells} == {"rsa-4096"}
    assert any("needs an ECDSA certificate" in each.reason for each in excluded)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('factor = "colour"', "must be one of"),
        ('backend = "gnutls"', "must be one of rustls, openssl"),
        ('key = "dsa-1024"', "must be one of ecdsa-p256"),
    ],
)
def test_faults_in_the_new_tables_are_reported_with_their_line(line: str, message: str) -> None:
    text = dumps(SUITES)
    name = line.partition(" ")[0]
    old = next(each for each in text.splitlines() if each.startswith(f"{name} = "))
    with pytest.raises(ExperimentError, match=message) as caught:
        loads(text.replace(old, line, 1), "suites.toml")
    assert caught.value.line is not None
