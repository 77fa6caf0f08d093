"""Trials on a server that a command configures: the offers, the waiting, the proof."""

import dataclasses
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from factories.offered import offered
from factories.run import made_run
from tlslab.contract.probe import OfferFound, ProbeRecord, Refusal
from tlslab.contract.record import Facts, Preflight
from tlslab.domain.errors import EngineError, NoGeneratorError
from tlslab.domain.plan import Cell
from tlslab.domain.trial import Trial
from tlslab.experiment import load
from tlslab.lab.engine import Engine
from tlslab.lab.matrix.hooks import RIGHT_ANSWERS, find_choices, hooked
from tlslab.lab.specs import Aim
from tlslab.lab.trial import Bench
from tlslab.servers.external import parse_hook

RUN = made_run(experiment=replace(load("groups"), blocks=1))
FACTORS = [factor.name for factor in RUN.experiment.factors]


@dataclass
class Server:
    """A server with these groups, by its own order or not; preflights with these numbers fail.

    `mute`: it does not answer the probe.
    """

    groups: tuple[str, ...]
    ordered: bool = False
    silent: Container[int] = ()
    asked: int = 0
    mute: bool = False
    offered: list[Sequence[str]] = field(default_factory=list)

    def choose(self, offered: Sequence[str]) -> str | None:
        first, second = (self.groups, offered) if self.ordered else (offered, self.groups)
        return next((group for group in first if group in second), None)

    def preflight(self, spec: Mapping[str, Any]) -> tuple[Preflight, str]:
        self.asked += 1
        group = self.choose(spec["tls"]["groups"])
        if self.asked in self.silent or group is None:
            raise EngineError("connect", "connection refused")
        facts = Facts("1.2", "S", group, "s", "full", False)
        return Preflight(facts, status=200, body_bytes=1, server="it"), "rustls"

    def probe(self, spec: Mapping[str, Any]) -> ProbeRecord:
        taken = [self.choose(offer["groups"]) for offer in spec["offers"]]
        if self.mute:
            silence = Refusal("timeout_handshake", "gave no answer in 5 s, nor in 15 s")
            return replace(offered(), offers=(OfferFound(None, silence),), certificates=())
        refusal = Refusal("alert_handshake_failure", "answered no")
        found = [OfferFound(True) if each else OfferFound(False, refusal) for each in taken]
        return replace(offered(), offers=tuple(found), certificates=())


def cell(tls: str, group: str) -> Cell:
    wanted = {"tls": tls, "group": group, "key": "rsa-2048"}
    return next(each for each in RUN.plan.cells if wanted.items() <= each.factors.items())


def outcome(
    server: Server, asked: Cell, command: str = "true {group}", chosen: str | None = None
) -> Trial:
    """A trial through the hook; its connections negotiate `chosen`."""
    planned = next(each for each in RUN.plan.trials if each.cell == asked.key)
    made = next(trial for trial in RUN.trials if trial.trial == planned.trial)

    def run(bench: Bench, _: object, opened: Cell, on_rate: object) -> Trial:
        assert bench.probed.refused == {}
        server.offered.append(opened.profile.groups)
        runs = {}
        for kind, each in made.runs.items():
            group = chosen or server.choose(opened.profile.groups) or ""
            facts = tuple(dataclasses.replace(fact, group=group) for fact in each.record.facts)
            runs[kind] = replace(each, record=replace(each.record, facts=facts))
        return replace(made, runs=runs)

    bench = Bench(cast(Engine, server), RUN.experiment.workload, Aim("https://127.0.0.1:1/"), None)
    hook = parse_hook(command, FACTORS)
    return hooked(hook, 0.6, RUN.experiment, run)(bench, planned, asked, lambda kind, pace: None)


@pytest.mark.parametrize("tls", ["1.2", "1.3"])
def test_a_server_with_one_group_is_offered_all_of_them(tls: str) -> None:
    server = Server(("P-384",))
    assert outcome(server, cell(tls, "P-384")).status == "done"
    assert server.offered[0][0] == "P-384"
    everything = {"X25519", "P-256", "P-384", "P-521", "X448"}
    hybrids = {"X25519MLKEM768", "SecP256r1MLKEM768"} if tls == "1.3" else set()
    assert set(server.offered[0]) == everything | hybrids


def test_a_server_with_an_order_of_its_own_may_have_others_in_tls_1_2() -> None:
    server = Server(("P-384", "P-256"), ordered=True)
    assert outcome(server, cell("1.2", "P-384")).status == "done"
    refused = outcome(server, cell("1.3", "P-384"))
    assert refused.reason is not None
    assert "takes other groups than P-384" in refused.reason.message


def test_a_server_that_follows_the_client_has_not_chosen() -> None:
    trial = outcome(Server(("X25519", "P-384")), cell("1.2", "P-384"))
    assert (trial.status, trial.runs) == ("failed", {})
    assert trial.reason is not None
    assert trial.reason.class_ == "not_ready"
    assert trial.reason.message == "0.6 s after the command the server prefers X25519 to P-384"


@pytest.mark.parametrize("tls", ["1.2", "1.3"])
def test_a_probe_without_an_answer_proves_nothing(tls: str) -> None:
    trial = outcome(Server(("P-384",), mute=True), cell(tls, "P-384"))
    assert trial.reason is not None
    words = "0.6 s after the command the server does not answer an offer without P-384"
    assert (trial.reason.class_, trial.reason.message) == ("not_ready", words)


def test_a_server_that_restarts_is_waited_for() -> None:
    server = Server(("P-384",), silent=(1, 2))
    assert outcome(server, cell("1.2", "P-384")).status == "done"
    assert server.asked == 2 + RIGHT_ANSWERS


def test_an_old_process_that_still_answers_in_between_is_waited_out() -> None:
    server = Server(("P-384",), silent=(RIGHT_ANSWERS,))
    assert outcome(server, cell("1.2", "P-384")).status == "done"
    assert server.asked == 2 * RIGHT_ANSWERS


def test_a_server_that_does_not_come_back_fails_the_trial_in_its_words() -> None:
    trial = outcome(Server(("P-384",), silent=range(1000)), cell("1.2", "P-384"))
    assert trial.reason is not None
    assert trial.reason.message.endswith("does not answer as the cell asks: connection refused")


def test_connections_of_a_trial_that_were_others_fail_it() -> None:
    trial = outcome(Server(("P-384",)), cell("1.2", "P-384"), chosen="P-521")
    assert trial.reason is not None
    assert trial.reason.class_ == "misconfigured"
    assert "the server chose" in trial.reason.message
    assert "P-521 instead of P-384" in trial.reason.message


def test_a_command_that_fails_is_the_trials_reason_and_nothing_is_asked(tmp_path: Path) -> None:
    server = Server(("P-384",))
    trial = outcome(server, cell("1.2", "P-384"), "sh -c 'echo no {group} here; exit 5'")
    assert (trial.status, server.asked) == ("failed", 0)
    assert trial.reason is not None
    assert trial.reason.message.endswith("ended with 5: no P-384 here")


def test_the_client_forces_factors_that_the_command_does_not_get() -> None:
    server = Server(("X25519", "P-256"))
    trial = outcome(server, cell("1.2", "P-256"), "restart-server")
    assert trial.reason is not None  # This command does not exist.
    assert find_choices(parse_hook("true", FACTORS), RUN.experiment, cell("1.2", "P-256")) == ()
    assert outcome(server, cell("1.2", "P-256"), "true").status == "done"
    assert server.offered == [("P-256",)]


def test_a_pool_without_generators_is_no_server_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def preflight(*_: Any) -> Any:
        raise NoGeneratorError("all load generators were lost")

    server = Server(("P-384",))
    monkeypatch.setattr(server, "preflight", preflight)
    with pytest.raises(NoGeneratorError):
        outcome(server, cell("1.2", "P-384"))
