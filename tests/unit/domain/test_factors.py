"""The rows of factors, and the levels that cells carry to clients and servers."""

import json
from dataclasses import fields

import pytest

from tlslab.domain.codec import from_json, to_json
from tlslab.domain.deployment import Deployment
from tlslab.domain.factors import COMMON, DEPLOYED, FACTORS, OFFERED, FactorRow, Rule, levels_of
from tlslab.domain.levels import Levels
from tlslab.domain.profile import Profile
from tlslab.experiment import dumps, load, loads, make_cells, with_levels
from tlslab.lab.specs import tls_spec


@pytest.mark.parametrize(("kind", "rows"), [(Deployment, DEPLOYED), (Profile, OFFERED)])
def test_levels_and_fields_have_different_names_in_json(
    kind: type, rows: dict[str, FactorRow]
) -> None:
    assert not rows.keys() & {field.name for field in fields(kind)}


def test_a_level_that_the_rule_does_not_allow_is_one_of_other_cells() -> None:
    factors = {"dh_bits": "none", "workers": "4", "ocsp_stapling": "off", "group": "X25519"}
    assert levels_of(DEPLOYED, factors) == Levels.of(workers="4")
    assert levels_of(OFFERED, factors) == Levels.of(ocsp_stapling="off")


def test_levels_are_values_beside_the_fields_in_json() -> None:
    levels = Levels.of(workers="4", burn="5%", ocsp_stapling="on")
    deployment = Deployment("nginx", levels=levels)
    written = json.loads(json.dumps(to_json(deployment)))
    given = {"server": "nginx", "workers": 4, "burn": "5%", "ocsp_stapling": True, "jdk": None}
    assert given.items() <= written.items()
    assert from_json(written, Deployment) == deployment
    assert to_json(Deployment("nginx"))["ocsp_stapling"] is False
    assert to_json(Profile())["ocsp_stapling"] is None
    assert from_json({"server": "nginx"}, Deployment) == Deployment("nginx")


def test_a_factor_of_the_client_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = FactorRow("made_up", Rule(("1", "2")), tls=lambda level: {"made_up": int(level)})
    for rows in (FACTORS, COMMON, OFFERED):
        monkeypatch.setitem(rows, "made_up", row)
    changed = with_levels(load("groups"), {"made_up": ("1", "2"), "group": ("X25519",)})
    assert loads(dumps(changed), "").factors == changed.factors
    specs = [tls_spec(cell.profile) for cell in make_cells(changed)[0]]
    assert {spec["made_up"] for spec in specs} == {1, 2}
