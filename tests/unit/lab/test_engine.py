"""The JSON contract: a specification goes in, events come out, then a record or an error."""

import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tlslab.domain.errors import EngineError, StoreError
from tlslab.domain.run_record import is_balanced
from tlslab.lab import engine as engine_module
from tlslab.lab.engine import Engine

Script = Callable[[str], str]
SPEC = {"warmup_ms": 0, "stop": {"duration_ms": 100}, "url": "https://127.0.0.1:1/"}


def run(program: str) -> tuple[Any, list[Any]]:
    events: list[Any] = []
    return Engine(program).run(SPEC, events.append), events


def test_the_specification_arrives_and_the_record_comes_back(script: Script) -> None:
    body = (
        "record['spec'] = json.load(sys.stdin)\n"
        "emit(event='phase', phase='measure', at_ns=1)\n"
        "print('a word', file=sys.stderr)\n"
        "emit(event='phase', phase='drain', at_ns=2)\n"
        "print(json.dumps(record))"
    )
    record, events = run(script(body))
    assert record.spec == SPEC
    assert is_balanced(record.outcomes)
    assert [event["phase"] for event in events] == ["measure", "drain"]


def test_a_record_larger_than_a_pipe_does_not_block(script: Script) -> None:
    body = "record['histograms'] = {'service': 'x' * 1_000_000}\nprint(json.dumps(record))"
    record, _ = run(script(body))
    assert len(record.histograms["service"]) == 1_000_000


def test_the_engines_reason_keeps_its_class_and_remedy(script: Script) -> None:
    body = (
        "print(json.dumps({'schema': 'tlslab.error/1', 'class': 'refused',"
        " 'message': 'nothing listens', 'remedy': 'start it', 'status': 404}))\nsys.exit(3)"
    )
    with pytest.raises(EngineError) as caught:
        run(script(body))
    error = caught.value
    assert (error.class_, error.message, error.remedy) == ("refused", "nothing listens", "start it")
    assert (error.exit_code, error.status) == (3, 404)


def test_an_engine_that_calls_it_wrong_usage_ends_with_2() -> None:
    assert EngineError("usage", "").exit_code == 2


def test_an_engine_without_a_record_is_reported_with_its_last_words(script: Script) -> None:
    with pytest.raises(EngineError, match="ended with code 101: thread panicked"):
        run(script("print('thread panicked', file=sys.stderr); sys.exit(101)"))


def test_a_record_without_its_accounting_names_what_is_missing(script: Script) -> None:
    with pytest.raises(StoreError, match="outcomes"):
        run(script("del record['outcomes']; print(json.dumps(record))"))


def test_an_engine_that_hangs_is_ended(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "SLACK_S", 0.3)
    monkeypatch.setattr(engine_module, "PATIENCE_S", 0.2)
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)"
    with pytest.raises(EngineError, match="did not end"):
        run(script(stubborn))
    assert not psutil.Process().children(recursive=True)


def test_a_run_by_count_has_time_for_a_slow_server(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "SLACK_S", 0.5)
    slow = script("time.sleep(1.5)\nprint(json.dumps(record))")
    by_count = {**SPEC, "warmup_ms": 0, "stop": {"count": 500}}
    assert Engine(slow).run(by_count, lambda event: None).seconds > 0


def test_an_interruption_ends_the_engine(script: Script) -> None:
    program = script("emit(event='phase', phase='measure', at_ns=1)\ntime.sleep(60)")

    def interrupt(event: Any) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Engine(program).run(SPEC, interrupt)
    assert time.monotonic() - start < 30
    assert not psutil.Process().children(recursive=True)


def test_preflight_reports_facts_and_back_end(script: Script) -> None:
    body = (
        "print(json.dumps({'schema': 'tlslab.preflight/1', 'address': 'a', 'backend': 'openssl',"
        " 'preflight': record['preflight']}))"
    )
    preflight, backend = Engine(script(body)).preflight(SPEC)
    assert backend == "openssl"
    assert preflight.certificate is not None
    assert preflight.certificate.key == "ECDSA P-256"
