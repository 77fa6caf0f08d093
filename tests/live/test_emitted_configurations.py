"""Every emitted configuration passes the server's own test."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tlslab.advice.emit import SYNTAXES
from tlslab.advice.preference import Preference, Subject
from tlslab.advice.setting_grade import grade_group, grade_suite
from tlslab.domain.names import GROUPS, SUITES
from tlslab.servers.certificates import Authority

# Everything that a run may find and recommend: all settings to which no policy objects.
GOOD_SUITES = [s.name for s in SUITES if s.tls == "1.2" and grade_suite(s.name, "2").passes]
GOOD_GROUPS = [g.name for g in GROUPS if grade_group(g.name).passes]

# Settings that are written as a comment, with the reason.
BAD_SUITES = [s.name for s in SUITES if not grade_suite(s.name, "2").passes]


def preference(subject: Subject) -> Preference:
    good, bad = (GOOD_SUITES, BAD_SUITES) if subject == "suite" else (GOOD_GROUPS, [])
    return Preference(subject, "reference", tuple(good), head=tuple(bad))


def indented(text: str, by: str = "    ") -> str:
    return "".join(f"{by}{line}\n" for line in text.splitlines())


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    assert found, f"{name} is missing: scripts/install-debian.sh installs it"
    return found


def nginx(folder: Path, certificate: Path, key: Path, text: str) -> Sequence[str]:
    config = folder / "nginx.conf"
    config.write_text(
        f"pid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n  access_log off;\n"
        f"  server {{\n    listen 127.0.0.1:1 ssl;\n    ssl_certificate {certificate};\n"
        f"    ssl_certificate_key {key};\n{indented(text)}  }}\n}}\n"
    )
    # Without root nginx cannot make its default folders for temporary files. These are never used.
    return [program("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(config), "-t"]


def apache(folder: Path, certificate: Path, key: Path, text: str) -> Sequence[str]:
    modules = Path("/usr/lib/apache2/modules")
    config = folder / "apache.conf"
    config.write_text(
        f"ServerName localhost\nServerRoot {folder}\nPidFile {folder}/apache.pid\n"
        f"ErrorLog /dev/stderr\nLoadModule mpm_event_module {modules}/mod_mpm_event.so\n"
        f"LoadModule authz_core_module {modules}/mod_authz_core.so\n"
        f"LoadModule socache_shmcb_module {modules}/mod_socache_shmcb.so\n"
        f"LoadModule ssl_module {modules}/mod_ssl.so\n"
        f"Listen 127.0.0.1:{free_port()}\n<VirtualHost *>\n    SSLEngine on\n"
        f"    SSLCertificateFile {certificate}\n    SSLCertificateKeyFile {key}\n"
        f"{indented(text)}</VirtualHost>\n"
    )
    return [program("apache2"), "-f", str(config), "-X"]


def haproxy(folder: Path, certificate: Path, key: Path, text: str) -> Sequence[str]:
    both = folder / "both.pem"
    both.write_text(certificate.read_text("ascii") + key.read_text("ascii"))
    config = folder / "haproxy.cfg"
    config.write_text(
        f"global\n{indented(text)}\ndefaults\n    mode http\n    timeout connect 1s\n"
        "    timeout client 1s\n    timeout server 1s\n\nfrontend all\n"
        f"    bind 127.0.0.1:1 ssl crt {both}\n    default_backend none\n\nbackend none\n"
    )
    return [program("haproxy"), "-c", "-f", str(config)]


def node(folder: Path, certificate: Path, key: Path, text: str) -> Sequence[str]:
    script = folder / "check.js"
    script.write_text(
        "const { readFileSync } = require('fs');\n"
        "require('http2').createSecureServer({\n"
        f"  cert: readFileSync('{certificate}'),\n  key: readFileSync('{key}'),\n"
        f"{indented(text, '  ')}}});\n"
    )
    return [program("node"), str(script)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def complaint(command: Sequence[str], folder: Path) -> str | None:
    """The server's message against its configuration; None if the configuration passes.

    Apache's own test does not check the values that it passes to OpenSSL: Apache has to start.
    """
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            if (folder / "apache.pid").exists():
                return None
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    return None if process.returncode == 0 else log.read_text("utf-8", errors="replace")


CHECKS: dict[str, Callable[[Path, Path, Path, str], Sequence[str]]] = {
    "nginx": nginx,
    "apache": apache,
    "haproxy": haproxy,
    "node": node,
}


@pytest.mark.capability("servers take the recommended configuration")
@pytest.mark.parametrize("subject", ["suite", "group"])
@pytest.mark.parametrize("server", list(CHECKS))
def test_the_server_takes_what_is_emitted_for_it(
    server: str, subject: Subject, tmp_path: Path
) -> None:
    text = SYNTAXES[server].emit(preference(subject))
    assert text is not None
    files = Authority(tmp_path).issue("ecdsa-p256")
    command = CHECKS[server](tmp_path, files.certificate, files.key, text)
    assert complaint(command, tmp_path) is None, text


@pytest.mark.parametrize("server", list(CHECKS))
def test_the_server_s_own_test_does_find_faults(server: str, tmp_path: Path) -> None:
    text = SYNTAXES[server].emit(preference("group"))
    assert text is not None
    broken = text.replace("X25519:", "NOSUCHGROUP:")
    assert broken != text
    files = Authority(tmp_path).issue("ecdsa-p256")
    command = CHECKS[server](tmp_path, files.certificate, files.key, broken)
    assert complaint(command, tmp_path)
