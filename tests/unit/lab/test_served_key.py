"""The certificate that a trial's server sent is the one that the cell names."""

from dataclasses import replace

import pytest

from factories.run import made_run
from tlslab.contract.record import RunRecord
from tlslab.domain.errors import EngineError
from tlslab.domain.plan import Cell
from tlslab.domain.profile import Profile
from tlslab.lab.served_key import check_certificate, key_name_level


@pytest.fixture(name="record", scope="module")
def _record() -> RunRecord:
    trials = made_run(quick=True).trials
    return next(trial.runs["capacity"].record for trial in trials if trial.runs)


def cell(key: str | None) -> Cell:
    return Cell(f"key={key}", {}, Profile(key=key))


def test_another_key_than_the_cell_s_is_no_sample(record: RunRecord) -> None:
    shown = record.preflight.certificate
    assert shown is not None
    level = key_name_level(shown.key)
    check_certificate(cell(level), record)
    check_certificate(cell(None), record)
    with pytest.raises(EngineError, match=f"its {shown.key} certificate, not rsa-4096: pin"):
        check_certificate(cell("rsa-4096"), record)
    resumed = replace(record, preflight=replace(record.preflight, certificate=None))
    check_certificate(cell("rsa-4096"), resumed)


@pytest.mark.parametrize(
    ("name", "level"),
    [("ECDSA P-256", "ecdsa-p256"), ("RSA-2048", "rsa-2048"), ("Ed25519", "ed25519")],
)
def test_the_engine_s_names_are_levels(name: str, level: str) -> None:
    assert key_name_level(name) == level
