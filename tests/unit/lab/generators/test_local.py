"""A host on this machine: it talks to its own engine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tlslab.domain.errors import EngineError
from tlslab.lab.generators import local
from tlslab.lab.generators.host import HostLostError
from tlslab.lab.generators.local import LocalHost, local_hosts

Script = Callable[[str], str]

SPEC = {"url": "https://127.0.0.1:1/"}

READY = (
    "spec = json.loads(sys.stdin.readline())\n"
    "emit(event='ready', now_ns=1)\n"
)  # fmt: skip


def events_until(conversation: Any, wanted: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    deadline = time.monotonic() + 20
    while not any(event["event"] == wanted for event in found):
        assert time.monotonic() < deadline, found
        found += conversation.events(0.5)
    return found


def test_a_run_from_its_specification_to_its_record(script: Script) -> None:
    body = READY + (
        "start = json.loads(sys.stdin.readline())\n"
        "emit(event='phase', phase='measure', at_ns=start['start_at_ns'])\n"
        "print(json.dumps({'spec': spec, 'start': start, 'flags': sys.argv[1:]}))"
    )
    host = LocalHost("local-1", script(body), (3,))
    assert (host.facts.name, host.facts.processors) == ("local-1", (3,))
    conversation = host.open(SPEC, ["--more"])
    assert [event["event"] for event in events_until(conversation, "ready")] == ["ready"]
    assert not conversation.ended()
    conversation.start(5, 1.5)
    assert events_until(conversation, "phase")[0]["at_ns"] == 5
    record = conversation.result()
    assert (record["spec"], record["start"]) == (SPEC, {"start_at_ns": 5, "unix_s": 1.5})
    assert record["flags"] == ["--spec", "-", "--json", "--events", "--barrier", "--more"]
    before = time.monotonic()
    assert conversation.events(30.0) == [], "nothing is waited for after the end"
    assert time.monotonic() - before < 20
    assert conversation.ended()
    conversation.close()
    host.close()


def test_an_engine_that_is_killed_is_a_lost_host(script: Script) -> None:
    conversation = LocalHost("a", script(READY + "time.sleep(60)")).open(SPEC, [])
    events_until(conversation, "ready")
    (child,) = psutil.Process().children()
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(HostLostError, match="SIGKILL"):
        conversation.result()
    conversation.close()


def test_an_engine_that_refuses_says_why(script: Script) -> None:
    body = (
        "print(json.dumps({'schema': 'tlslab.error/1', 'class': 'target_refused',"
        " 'message': 'no', 'remedy': 'ask'}))\nsys.exit(3)"
    )
    conversation = LocalHost("a", script(body)).open(SPEC, [])
    with pytest.raises(EngineError, match="no") as caught:
        conversation.result()
    assert caught.value.class_ == "target_refused"
    conversation.close()


def test_an_engine_that_does_not_end_is_killed_with_its_host(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "RESULT_S", 0.2)
    stubborn = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + READY + "time.sleep(60)"
    host = LocalHost("a", script(stubborn))
    conversation = host.open(SPEC, [])
    events_until(conversation, "ready")
    conversation.interrupt()
    with pytest.raises(EngineError, match="did not end"):
        conversation.result()
    os.kill(psutil.Process().children()[0].pid, signal.SIGSTOP)
    host.close()
    assert conversation.ended()
    assert not psutil.Process().children()
    conversation.close()


def test_a_host_answers_questions_without_load(script: Script) -> None:
    host = LocalHost("a", script("print(json.dumps({'given': sys.stdin.read()}))"))
    assert host.ask([], b"x", 20) == {"given": "x"}
    with pytest.raises(EngineError, match="did not end within 0 s"):
        LocalHost("a", script("time.sleep(60)")).ask([], b"", 0.2)


def test_hosts_of_this_machine_have_names_of_their_own(script: Script) -> None:
    hosts = local_hosts(3, script(""))
    assert [host.facts.name for host in hosts] == ["local-1", "local-2", "local-3"]
    assert len({host.facts.boot_id for host in hosts}) == 1
    assert abs(hosts[0].now_ns() - time.monotonic_ns()) < 10**9


def test_a_node_needs_nothing_but_python() -> None:
    code = (
        "import sys; import tlslab.lab.generators.local\n"
        "third = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(third & {'numpy', 'scipy', 'cattrs', 'psutil', 'jinja2', 'typer', 'rich'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
