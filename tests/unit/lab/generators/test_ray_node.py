"""A node, and the host that calls it, with shell scripts as engines."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from tlslab.domain.errors import EngineError
from tlslab.lab.generators.host import HostFacts, HostLostError
from tlslab.lab.generators.ray_node import Node, RemoteHost

# Like the engine with --barrier: a specification, the event `ready`, an instant, a record.
ENGINE = """\
#!/bin/sh
[ "$1" = --version ] && exec echo engine 1
read -r spec
echo '{"event":"ready","now_ns":1}' >&2
echo 'a warning' >&2
read -r start || { echo '{"schema":"tlslab.error/1","class":"no_start","message":"none"}'; exit 3; }
echo "{\\"spec\\":$spec,\\"start\\":$start,\\"flags\\":\\"$*\\"}"
"""

SLEEPER = """\
#!/bin/sh
[ "$1" = --version ] && exit 0
echo "{\\"event\\":\\"$$\\"}" >&2
exec sleep 600
"""

SPEC = {"url": "https://127.0.0.1:1/"}
FACTS = HostFacts("g1", (0,), "x86_64", "boot")


class InProcess:
    """Calls a node in this process."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
        return getattr(self._node, method)(*arguments)

    def close(self) -> None:
        pass


def script(folder: Path, text: str) -> str:
    path = folder / "engine"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    kept = Node(patience_s=600)
    kept.use(script(tmp_path, ENGINE))
    return kept


@pytest.fixture
def host(node: Node) -> RemoteHost:
    return RemoteHost(FACTS, InProcess(node))


@pytest.fixture
def sleeper(tmp_path: Path) -> str:
    return script(tmp_path, SLEEPER)


def test_a_run_waits_at_the_barrier_and_gives_its_record(host: RemoteHost) -> None:
    conversation = host.open(SPEC, ["--more"])
    assert conversation.events(10.0) == [{"event": "ready", "now_ns": 1}]
    assert conversation.events(0.05) == []
    assert not conversation.ended()
    conversation.start(5_000, 1.5)
    record = conversation.result()
    assert conversation.ended()
    assert record["spec"] == SPEC
    assert record["start"] == {"start_at_ns": 5_000, "unix_s": 1.5}
    assert record["flags"].split()[-2:] == ["--barrier", "--more"]
    assert conversation.events(10.0) == []
    conversation.close()


def test_an_answer_without_load_has_all_its_input_at_once(host: RemoteHost) -> None:
    with pytest.raises(EngineError) as caught:
        host.ask(["--preflight"], json.dumps(SPEC).encode() + b"\n", 10.0)
    assert (caught.value.class_, caught.value.message) == ("no_start", "none")


def test_a_program_that_is_not_there_is_an_engine_that_failed(host: RemoteHost, node: Node) -> None:
    node.use("/no/such/engine")
    with pytest.raises(EngineError, match="engine"):
        host.ask([], b"", 10.0)


def test_an_engine_that_does_not_end_is_reported(
    host: RemoteHost, sleeper: str, node: Node
) -> None:
    node.use(sleeper)
    with pytest.raises(EngineError) as caught:
        host.ask([], b"", 0.1)
    assert caught.value.class_ == "engine_hangs"


def test_a_closed_run_is_killed_and_may_be_closed_again(
    host: RemoteHost, sleeper: str, node: Node
) -> None:
    node.use(sleeper)
    conversation = host.open(SPEC, [])
    (event,) = conversation.events(10.0)
    conversation.close()
    conversation.close()
    _gone(int(event["event"]))
    with pytest.raises(HostLostError, match="begun anew"):
        conversation.events(0.0)


def test_a_lost_host_stays_lost_and_can_be_closed() -> None:
    class Lost:
        def __call__(self, method: str, *arguments: Any, seconds: float) -> Any:
            if method == "open":
                return "", None
            raise HostLostError("its node died")

        def close(self) -> None:
            pass

    host = RemoteHost(FACTS, Lost())
    conversation = host.open(SPEC, [])
    with pytest.raises(HostLostError, match="its node died"):
        conversation.events(0.0)
    conversation.close()
    host.close()


def test_a_program_is_installed_in_a_private_folder_once_it_is_whole(node: Node) -> None:
    content = ENGINE.encode()
    digest = hashlib.sha256(content).hexdigest()
    assert node.install("engine", content + b"#", digest) == "the program arrived damaged"
    assert node.install("engine", content, digest) == ""
    broken = b"#!/no/such/shell\n"
    refusal = node.install("engine", broken, hashlib.sha256(broken).hexdigest())
    assert "does not run there" in refusal


def test_a_node_names_its_own_program_by_its_hash(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = node.facts("engine")
    assert facts["program"] == str(tmp_path / "engine")
    assert facts["sha256"] == hashlib.sha256(ENGINE.encode()).hexdigest()
    assert facts["processors"] == sorted(os.sched_getaffinity(0))
    assert node.facts("no-such-program")["sha256"] == ""


# A node in a separate process, which reports what it has installed and started.
ACTOR = """\
import hashlib, sys, time
from pathlib import Path
from tlslab.lab.generators.ray_node import Node
node = Node(float(sys.argv[1]))
content = Path(sys.argv[2]).read_bytes()
assert node.install("engine", content, hashlib.sha256(content).hexdigest()) == ""
assert node.open(1, {}, []) == ("", None)
((event,),) = node.call(1, "events", 10.0)[1:]
print(node._host._program, event["event"], flush=True)
time.sleep(600)
"""


def _actor(patience_s: float, engine: str) -> tuple[subprocess.Popen[str], Path, int]:
    source = textwrap.dedent(ACTOR)
    command = [sys.executable, "-c", source, str(patience_s), engine]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    program, engine = child.stdout.readline().split()
    return child, Path(program), int(engine)


def test_nothing_is_left_of_a_node_that_is_killed(sleeper: str) -> None:
    child, program, engine = _actor(600, sleeper)
    assert program.exists()
    child.kill()
    child.wait()
    _gone(engine)
    _until(lambda: not program.parent.exists())


def test_a_node_that_hears_nothing_of_its_head_ends_itself_and_its_engines(sleeper: str) -> None:
    child, program, engine = _actor(0.2, sleeper)
    assert child.wait(30) == 1
    _gone(engine)
    _until(lambda: not program.parent.exists())


def _gone(pid: int) -> None:
    def ended() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # Its parent may not have collected the exit code yet.
        return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    _until(ended)


def _until(holds: Any, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
