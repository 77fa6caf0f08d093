"""Which failure shows that a server resumes no session, and which does not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tlslab.domain.errors import EngineError
from tlslab.domain.profile import Profile
from tlslab.lab.engine import Engine
from tlslab.lab.proof.discover import resumes
from tlslab.lab.specs import Aim
from tlslab.servers import Reference
from tlslab.servers.base import Setting
from tlslab.servers.programs import require_program

Script = Callable[[str], str]

AIM = Aim("https://example.invalid/", "anyone")
SERVER = """
seen = {log!r}
with open(seen, 'a') as file: file.write(json.load(sys.stdin)['tls']['resume'] + ' ')
ways = open(seen).read().split()
def fail(name):
    print(json.dumps({{'schema': 'tlslab.error/1', 'class': name, 'message': 'm'}}))
    sys.exit(3)
{body}
print(json.dumps({{'schema': 'tlslab.preflight/1', 'address': 'a', 'backend': 'rustls',
                  'preflight': record['preflight']}}))
sys.exit(0)
"""


def asked(script: Script, folder: Path, body: str) -> tuple[str | None, list[str]]:
    """The answer, and the ways of resumption that were tried."""
    log = folder / "log"
    engine = Engine(script(SERVER.format(log=str(log), body=body)))
    return resumes(engine, AIM, Profile(tls="1.2"), "1.1"), log.read_text().split()


def test_a_server_that_never_resumes_is_asked_twice_for_each_way(
    script: Script, tmp_path: Path
) -> None:
    found = asked(script, tmp_path, "fail('unexpected_kind')")
    assert found == (None, ["ticket", "ticket", "id", "id"])


def test_one_full_handshake_does_not_decide(script: Script, tmp_path: Path) -> None:
    found = asked(script, tmp_path, "if len(ways) == 1: fail('unexpected_kind')")
    assert found == ("ticket", ["ticket", "ticket"])


@pytest.mark.parametrize("class_", ["timeout_connect", "refused", "reset", "tls_protocol"])
def test_another_failure_says_nothing_of_resumption(
    script: Script, tmp_path: Path, class_: str
) -> None:
    with pytest.raises(EngineError) as raised:
        asked(script, tmp_path, f"fail({class_!r})")
    assert raised.value.class_ == class_


@pytest.mark.parametrize("tls", ["1.2", "1.3"])
def test_a_real_server_without_sessions_resumes_none(tmp_path: Path, tls: str) -> None:
    setting = Setting(tmp_path, ("ecdsa-p256",), ("X25519",), 100, ())
    target = Reference(setting, require_program("tlslab-serve"))
    target.prepare()
    running = target.start()
    try:
        engine = Engine(require_program("tlslab-load"))
        aim = Aim(running.url, target.trust_pem)
        assert resumes(engine, aim, Profile(tls=tls), "1.1") is None
    finally:
        running.stop()
