"""The experiment of a proof: its file contains everything that the run folder needs."""

from dataclasses import replace

import pytest

from tlslab.domain.configuration import Configuration, ServedCertificate
from tlslab.domain.proof_settings import ProofSettings
from tlslab.experiment import dumps, file_kind, loads, make_cells
from tlslab.experiment.proof import proof_experiment

BEFORE = Configuration(
    "baseline",
    'my "file".conf',
    ("ssl_protocols TLSv1.2;", "ssl_ciphers A:B;"),
    (ServedCertificate("rsa-4096", "/etc/a.pem", "/etc/a.key"), ServedCertificate("ecdsa-p256")),
    True,
    ("a note",),
    ("root (line 3)",),
    ("include a.conf (line 1)",),
    ("http2 on;", "ssl_protocols TLSv1.2;"),
)
AFTER = Configuration("candidate", "the policies", ("ssl_protocols TLSv1.3;",), ())

SETTINGS = ProofSettings("nginx", "Chromium 156", 0.05, 0.5, (BEFORE, AFTER), ("Java 6u45",))
LIVE = ProofSettings(
    "https://a.example/", "Go 1.26", 0.1, 0.25, apply="ssh a 'b c'", revert='ssh a "d"'
)


@pytest.mark.parametrize("settings", [SETTINGS, LIVE])
@pytest.mark.parametrize("quick", [True, False])
def test_a_file_is_read_back_as_it_was_written(settings: ProofSettings, quick: bool) -> None:
    experiment = proof_experiment(settings, quick)
    assert loads(dumps(experiment), "f") == experiment


def test_both_configurations_have_new_and_returning_clients() -> None:
    cells, excluded = make_cells(proof_experiment(SETTINGS), "nginx")
    assert [tuple(cell.factors.values()) for cell in cells] == [
        ("baseline", "new"),
        ("baseline", "returning"),
        ("candidate", "new"),
        ("candidate", "returning"),
    ]
    assert not excluded
    assert [cell.deployment and cell.deployment.levels.get("configuration") for cell in cells] == [
        "baseline", "baseline", "candidate", "candidate",
    ]  # fmt: skip


def test_a_resumed_run_knows_its_server() -> None:
    experiment = proof_experiment(LIVE)
    assert file_kind(experiment).server(experiment) == "https://a.example/"


def test_exact_blocks_switch_the_rule_off() -> None:
    experiment = proof_experiment(SETTINGS)
    assert experiment.stopping is not None
    assert file_kind(experiment).with_blocks(experiment, 7) == replace(
        experiment, blocks=7, stopping=None
    )
