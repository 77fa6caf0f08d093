"""The reference target against a stand-in for its program."""

import sys
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from tlslab.domain.errors import CannotRunError
from tlslab.domain.levels import Levels
from tlslab.servers import MANAGED, Reference, RustlsReference
from tlslab.servers import reference as reference_module
from tlslab.servers.base import Setting

SERVER = """
import json, signal, sys
# Waited for, and not handled: a handler could be called in the middle of a print.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
full = 0
print("not an event", flush=True)
print(json.dumps({"event": "ready", "address": "127.0.0.1:4433", "argv": sys.argv}), flush=True)
while signal.sigwait([signal.SIGUSR1]):
    full += 5
    print(json.dumps({"event": "stats", "stats": {"handshakes": {"full": full}}}), flush=True)
"""


def target(tmp_path: Path, body: str) -> Reference:
    program = tmp_path / "serve"
    program.write_text(f"#!{sys.executable}\n{body}", "utf-8")
    program.chmod(0o755)
    setting = Setting(tmp_path, ("ecdsa-p256", "rsa-2048"), ("X25519", "X448"), 4788, ())
    reference = Reference(setting, str(program))
    assert reference.prepare() == {}
    return reference


def test_the_servers_address_and_counts_are_read_from_its_events(tmp_path: Path) -> None:
    running = target(tmp_path, SERVER).start()
    assert running.url == "https://127.0.0.1:4433/bytes/4788"
    assert [running.handshakes(), running.handshakes()] == [5, 10]
    command = psutil.Process(running.process.pid).cmdline()
    assert command.count("--cert") == command.count("--key") == 2
    assert command[command.index("--group") + 1] == "X25519"
    running.stop()
    assert not running.process.alive()


def test_without_tls_no_option_of_tls_is_given(tmp_path: Path) -> None:
    program = tmp_path / "serve"
    program.write_text(f"#!{sys.executable}\n{SERVER}", "utf-8")
    program.chmod(0o755)
    levels = Levels.of(dh_bits="2048", burn="5%")
    setting = Setting(tmp_path, ("rsa-2048",), ("X25519",), 1, (), plain=True, levels=levels)
    server = Reference(setting, str(program))
    assert (server.prepare(), server.trust_pem) == ({}, "")
    running = server.start()
    assert (running.url, running.handshakes()) == ("http://127.0.0.1:4433/bytes/1", None)
    command = psutil.Process(running.process.pid).cmdline()
    assert command[command.index("--backend") + 1] == "none"
    assert not {"--cert", "--group", "--dh-bits"} & set(command)
    assert "--burn" in command
    running.stop()


def test_levels_that_rustls_lacks_are_left_out_and_named(tmp_path: Path) -> None:
    program = tmp_path / "serve"
    program.write_text(f"#!{sys.executable}\n{SERVER}", "utf-8")
    program.chmod(0o755)
    suites = ("TLS_AES_128_CCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    setting = Setting(tmp_path, ("rsa-2048",), ("X25519", "X448", "P-521"), 1, (), suites=suites)
    server = RustlsReference(setting, str(program))
    reason = "tlslab-serve with rustls lacks it"
    assert server.prepare() == {
        ("group", "X448"): reason,
        ("suite", "TLS_AES_128_CCM_SHA256"): reason,
        ("resume", "psk-only"): reason,
    }
    running = server.start()
    command = psutil.Process(running.process.pid).cmdline()
    running.stop()
    given = [after for word, after in pairwise(command) if word in ("--group", "--suite")]
    assert given == ["X25519", "P-521", suites[1]]
    assert command[command.index("--backend") + 1] == "rustls"


def test_a_program_without_openssl_serves_with_rustls_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "serve"
    program.write_text("#!/bin/sh\necho 'tlslab-serve 1.2 (without OpenSSL)'\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(reference_module, "find_program", lambda name: str(program))
    setting = Setting(tmp_path, ("ecdsa-p256",), ("X25519",), 1, ())
    with pytest.raises(CannotRunError, match="built without OpenSSL") as error:
        Reference(setting)
    assert "make setup" in error.value.remedy
    RustlsReference(setting)
    assert not MANAGED["reference"].installed
    assert MANAGED["reference-rustls"].installed


def test_a_planted_slowdown_is_an_option_of_the_server(tmp_path: Path) -> None:
    for burn, given in ((None, []), ("5%", ["--burn", "5%"])):
        folder = tmp_path / str(burn)
        folder.mkdir()
        program = folder / "serve"
        program.write_text(f"#!{sys.executable}\n{SERVER}", "utf-8")
        program.chmod(0o755)
        setting = Setting(
            folder,
            ("ecdsa-p256",),
            ("X25519",),
            1,
            (),
            levels=Levels.of({"burn": burn} if burn else {}),
        )
        running = Reference(setting, str(program)).start()
        command = psutil.Process(running.process.pid).cmdline()
        assert [word for word in command if word in ("--burn", "5%")] == given
        running.stop()


def test_each_certificate_has_its_response_to_staple(tmp_path: Path) -> None:
    program = tmp_path / "serve"
    program.write_text(f"#!{sys.executable}\n{SERVER}", "utf-8")
    program.chmod(0o755)
    keys = ("ecdsa-p256", "rsa-2048")
    reference = Reference(
        Setting(tmp_path, keys, ("X25519",), 1, (), levels=Levels.of(ocsp_stapling="on")),
        str(program),
    )
    assert reference.prepare() == {}
    running = reference.start()
    command = psutil.Process(running.process.pid).cmdline()
    running.stop()
    for option, suffix in (("--cert", "pem"), ("--key", "key"), ("--staple", "ocsp")):
        given = [after for word, after in pairwise(command) if word == option]
        assert given == [str(tmp_path / f"{key}.{suffix}") for key in keys]


def test_a_server_that_does_not_start_is_reported_with_its_words(tmp_path: Path) -> None:
    broken = target(tmp_path, "import sys; sys.exit('no such curve')")
    with pytest.raises(CannotRunError, match="no such curve"):
        broken.start()
    assert not psutil.Process().children(recursive=True)


LATE = """
import json, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
sent = 1
def event(full):
    return json.dumps({"event": "stats", "stats": {"handshakes": {"full": full}}})
ready = json.dumps({"event": "ready", "address": "127.0.0.1:4433"})
print(ready + "\\n" + event(sent), flush=True)
while signal.sigwait([signal.SIGUSR1]):
    sent += 1
    print(event(sent), flush=True)
"""


def test_a_late_answer_to_an_earlier_question_is_none_to_this_one(tmp_path: Path) -> None:
    running = target(tmp_path, LATE).start()
    assert [running.handshakes(), running.handshakes()] == [2, 3]
    running.stop()


SILENT = """
import json, signal, time
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
print(json.dumps({"event": "ready", "address": "127.0.0.1:4433"}), flush=True)
time.sleep(60)
"""


def test_a_server_that_sends_no_counts_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference_module, "STATS_S", 0.2)
    running = target(tmp_path, SILENT).start()
    with pytest.raises(CannotRunError, match="no sign of 'stats'"):
        running.handshakes()
    running.stop()
