"""The meaning of the probe's answer for cells."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tlslab.domain.plan import Cell
from tlslab.domain.profile import Profile
from tlslab.lab.engine import Engine
from tlslab.lab.probing import Probed, describe_offer, probe_cells, probe_spec
from tlslab.lab.specs import Aim

Script = Callable[..., str]
AIM = Aim("https://127.0.0.1:8443/document", "anyone", "localhost", ("example.org",))


def cell(group: str, key: str | None = None) -> Cell:
    factors = {"tls": "1.3", "group": group}
    return Cell(f"group={group},key={key}", factors, Profile("1.3", key, (group,)))


def test_the_specification_offers_each_cell_by_itself() -> None:
    spec = probe_spec(AIM, [cell("X25519"), cell("X448")])
    assert spec["target"] == "127.0.0.1:8443"
    assert (spec["server_name"], spec["allow"]) == ("localhost", ["example.org"])
    assert [offer["groups"] for offer in spec["offers"]] == [["X25519"], ["X448"]]
    assert "only" not in spec
    assert probe_spec(AIM, [cell("X25519", "rsa-2048")])["only"] == ["certificates"]
    assert probe_spec(AIM, [cell("X25519")] * 5000)["limits"] == {"connections": 2000}


def test_cells_are_refused_for_their_offer_or_for_their_key(script: Script) -> None:
    engine = Engine(script("", refused=("X448",)))
    good, bad, keyless = cell("X25519", "ecdsa-p256"), cell("X448"), cell("P-256", "rsa-3072")
    probed = probe_cells(engine, AIM, [good, bad, keyless])
    assert probed.supported == {good.key}
    assert set(probed.refused) == {bad.key, keyless.key}
    assert probed.refused[keyless.key].class_ == "certificate_key"
    message = probed.refused[keyless.key].message
    assert message == "the server has no rsa-3072 certificate in TLS 1.3; it has ecdsa-p256"


def test_a_probe_that_fails_says_nothing_of_any_cell(script: Script) -> None:
    program = Path(script(""))
    program.write_text('#!/bin/sh\necho \'{"schema": "tlslab.error/1", "class": "no_tls"}\'\n')
    assert probe_cells(Engine(str(program)), AIM, [cell("X25519")]) == Probed()


UNANSWERED = {
    "topic": "certificates",
    "question": "certificate for rsa_pss_rsae_sha256 in TLS 1.3",
    "refusal": {"class": "timeout_handshake", "words": "gave no answer in 5 s, nor in 15 s"},
}


def test_a_cell_without_an_answer_is_neither_refused_nor_supported(script: Script) -> None:
    engine = Engine(script("", refused=("X448",), silent=("P-256",)))
    good, bad, open_ = cell("X25519"), cell("X448"), cell("P-256")
    probed = probe_cells(engine, AIM, [good, bad, open_])
    assert probed.supported == {good.key}
    assert set(probed.refused) == {bad.key}


@pytest.mark.parametrize("more", [{"unanswered": [UNANSWERED]}, {"incomplete": "the limit"}])
def test_a_key_is_not_missing_if_a_certificate_may_be(script: Script, more: Any) -> None:
    engine = Engine(script("", **more))
    there, open_ = cell("X25519", "ecdsa-p256"), cell("X25519", "rsa-3072")
    probed = probe_cells(engine, AIM, [there, open_])
    assert probed.supported == {there.key}
    assert not probed.refused


def test_an_offer_in_words() -> None:
    assert describe_offer(Profile()) == "any version of TLS"
    profile = Profile("1.2", None, ("P-384",), ("AES128-SHA",))
    assert describe_offer(profile) == "TLS 1.2 with only P-384, AES128-SHA"
