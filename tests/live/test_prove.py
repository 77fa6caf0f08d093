"""`tlslab prove`: poor and good configurations on real servers; live servers are reverted."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kept.proof_verdict import DECIDING, EXIT_CODES, verdict
from live.harness import Child, Ended, Own, Tlslab, trials

# Each handshake costs the server an RSA-4096 signature, many times as much as any other.
POOR = """
server {
    listen 443 ssl;
    ssl_certificate poor.pem;
    ssl_certificate_key poor.key;
    ssl_protocols TLSv1.2;
    ssl_prefer_server_ciphers on;
    ssl_ciphers ECDHE-RSA-AES256-SHA;
    ssl_ecdh_curve secp384r1:prime256v1;
    ssl_session_cache shared:SSL:1m;
    location / { proxy_pass http://127.0.0.1:1; }
}
"""

GOOD = """
ssl_protocols TLSv1.2 TLSv1.3;
ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256;
ssl_ecdh_curve X25519:prime256v1;
"""

BRIEF = ("--quick", "--blocks", "5")


def proof(tlslab: Tlslab, *arguments: str) -> tuple[Ended, dict[str, Any]]:
    """The end of the command, and its summary."""
    ended = tlslab.run("prove", "--for", "nginx", *arguments, "--json", "--out", "r")
    return ended, json.loads(ended.out) if ended.out else {}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "poor.conf").write_text(POOR, "utf-8")
    (tmp_path / "good.conf").write_text(GOOD, "utf-8")
    return tmp_path


@pytest.mark.alone
@pytest.mark.usefixtures("files")
def test_a_poor_baseline_gives_way(tlslab: Tlslab) -> None:
    more = ("--quick", "--blocks", "8")
    ended, found = proof(tlslab, "--baseline", "poor.conf", "--key", "rsa-4096", *more)
    said = found["proof"]["verdict"]
    assert (ended.code, said) == (EXIT_CODES[said], verdict(found["proof"])), ended.err
    # Requests on connections kept open hardly differ: whether enough to say so is the machine's.
    assert said in ("deploy", "cannot_tell")
    by_name = {each["name"]: each for each in found["environment"]["found"]}
    facts = by_name["baseline"]["facts"]
    assert (facts["tls"], facts["suite"], facts["group"]) == (
        "1.2",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "P-384",
    )
    assert by_name["baseline"]["resume"] == "ticket"
    assert by_name["candidate"]["facts"]["tls"] == "1.3"
    assert by_name["candidate"]["facts"]["signature_scheme"] == "ecdsa_secp256r1_sha256"
    costs = [
        each
        for each in found["proof"]["figures"]
        if (each["measure"], each["estimate"]) == ("new", "server_cpu_us_per_connection")
    ]
    # A signature with RSA-4096 takes some 50 times as long as one with ECDSA P-256.
    assert costs[0]["better"] > 3
    assert costs[0]["direction"] == "gain"
    assert "; not taken: " in ended.err
    assert not any(each["lost"] for each in _clients(found))
    assert (Path(tlslab.folder) / "r" / "report.html").exists()


def _clients(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"lost": each["before"]["connects"] and not each["after"]["connects"]}
        for each in found["proof"]["clients"]
    ]


@pytest.mark.alone
@pytest.mark.usefixtures("files")
def test_a_configuration_is_not_better_than_itself(tlslab: Tlslab) -> None:
    both = ("--baseline", "good.conf", "--candidate", "good.conf")
    ended, found = proof(tlslab, *both, *BRIEF)
    said = found["proof"]["verdict"]
    assert said == verdict(found["proof"])
    assert ended.code == EXIT_CODES[said]
    deciding = [each for each in found["proof"]["figures"] if each["decides"]]
    assert {each["measure"] for each in deciding} == DECIDING
    # Whatever the noise, a configuration is not twice or half as good as itself.
    assert all(0.5 < each["better"] < 2 for each in deciding)
    if said == "cannot_tell":
        assert "--blocks" in found["answer"]["lacking"]["command"]
    first, second = found["environment"]["found"]
    assert first["facts"] == second["facts"]
    assert all(each["before"] == each["after"] for each in found["proof"]["clients"])


def own_certificate(folder: Path) -> None:
    """The user's own certificate and key, which no authority of the lab has signed."""
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", "/CN=own", "-addext", "subjectAltName=DNS:www.example.test",
            "-keyout", "own.key", "-out", "own.pem",
        ],
        cwd=folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    (folder / "own.conf").write_text(
        "ssl_certificate own.pem; ssl_certificate_key own.key;" + GOOD, "utf-8"
    )


def test_the_users_own_certificate_is_served_and_trusted(tlslab: Tlslab, tmp_path: Path) -> None:
    own_certificate(tmp_path)
    arguments = ("--for", "nginx", "--baseline", "own.conf", "--out", "r", "--json")
    ended = tlslab.run("prove", *arguments, TLSLAB_SHORT_RUNS="1")
    assert ended.code in (1, 4), ended.err
    found = json.loads(ended.out)["environment"]["found"]
    # The candidate has an ECDSA certificate beside the user's, made by the lab for the same name.
    assert [each["facts"]["signature_scheme"] for each in found] == [
        "rsa_pss_rsae_sha256",
        "ecdsa_secp256r1_sha256",
    ]
    made = [json.loads(line) for line in trials(tmp_path / "r")]
    specs = [run["record"]["spec"] for trial in made for run in trial["runs"].values()]
    assert specs
    assert {spec["tls"]["server_name"] for spec in specs} == {"www.example.test"}
    assert not any("PRIVATE KEY" in file.read_text() for file in (tmp_path / "r").glob("*.json*"))


@pytest.mark.usefixtures("files")
def test_a_run_folder_as_the_candidate_is_served_as_it_recommends(tlslab: Tlslab) -> None:
    groups = ("--set", "group=P-384,X25519", "--set", "tls=1.3", "--set", "key=ecdsa-p256")
    run = ("run", "groups", "--target", "nginx", *groups, "--out", "groups")
    assert tlslab.run(*run, TLSLAB_SHORT_RUNS="1").code in (0, 1)
    chosen = json.loads(tlslab.run("recommend", "groups", "--for", "nginx", "--json").out)
    arguments = ("--baseline", "good.conf", "--candidate", "groups", "--out", "r", "--json")
    ended = tlslab.run("prove", "--for", "nginx", *arguments, TLSLAB_SHORT_RUNS="1")
    assert ended.code in (1, 4), ended.err
    assert "candidate: tlslab recommend groups --for nginx" in ended.err
    before, after = (each["offered"] for each in json.loads(ended.out)["environment"]["found"])
    assert groups_of(before) == ["X25519", "P-256"]
    assert groups_of(after) == chosen["offer"]["groups"]
    assert sorted(chosen["order"]) == ["P-384", "X25519"]


def groups_of(offered: dict[str, Any]) -> list[str]:
    """The groups of TLS 1.3, in the server's order."""
    return [
        group["name"]
        for each in offered["groups"]
        for group in each["accepted"]
        if each["version"] == "1.3"
    ]


@pytest.mark.usefixtures("files")
def test_a_lost_client_is_named_whatever_the_run_shows(tlslab: Tlslab, tmp_path: Path) -> None:
    (tmp_path / "new.conf").write_text("ssl_protocols TLSv1.3;", "utf-8")
    arguments = ("--baseline", "good.conf", "--candidate", "new.conf")
    ended = tlslab.run("prove", "--for", "nginx", *arguments, "--out", "r", TLSLAB_SHORT_RUNS="1")
    assert ended.code == 1, ended.err
    assert "it loses " in ended.out
    assert re.search("(a trade-off|do not deploy the candidate): exit 1", ended.err)
    again = tlslab.run("report", "r", "--format", "markdown")
    assert "it loses " in again.out


@pytest.mark.usefixtures("files")
def test_a_dry_run_starts_and_writes_nothing(tlslab: Tlslab, tmp_path: Path) -> None:
    ended = tlslab.run(
        "prove", "--for", "nginx", "--baseline", "poor.conf", "--key", "rsa-4096", "--dry-run"
    )
    assert ended.code == 0
    assert "4 cells" in ended.out
    assert "not taken: location (line 11)" in ended.err
    assert not (tmp_path / "runs").exists()


def test_an_included_file_that_is_not_read_is_a_warning(tlslab: Tlslab, tmp_path: Path) -> None:
    (tmp_path / "my.conf").write_text("include tls.conf; ssl_protocols TLSv1.3;", "utf-8")
    ended = tlslab.run("prove", "--for", "nginx", "--baseline", "my.conf", "--dry-run")
    assert ended.code == 0
    warning = "warning: the baseline may lack settings of TLS, as these were not understood: "
    assert warning + "include tls.conf (line 1)\n" in ended.err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "the present configuration is missing"),
        (("--for", "caddy", "--baseline", "poor.conf"), "'caddy' is not"),
        (("--for", "nginx", "--baseline", "none.conf"), "No such file"),
        (("--for", "nginx", "--baseline", "poor.conf"), "poor.pem cannot be read"),
        (("--url", "https://localhost:1/", "--apply", "a"), "--revert is missing"),
        (("--url", "https://localhost:1/", "--baseline", "good.conf"), "--url is a live server"),
        (("--for", "nginx", "--baseline", "good.conf", "--apply", "a"), "needs a live server"),
        (("--for", "nginx", "--baseline", "good.conf", "--client", "Nobody"), "no known client"),
        (("--url", "https://localhost:1/", "--policy", "rfc9325"), "--policy chooses a candidate"),
        (
            (
                "--for",
                "nginx",
                "--baseline",
                "good.conf",
                "--candidate",
                "poor.conf",
                "--policy",
                "rfc9325",
            ),
            "--policy chooses a candidate",
        ),
    ],
)
def test_wrong_usage_is_one_line_with_a_remedy(
    tlslab: Tlslab, arguments: tuple[str, ...], words: str
) -> None:
    ended = tlslab.run("prove", *arguments)
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert words in ended.errors[0]
    assert "help: " in ended.err


# The same poor server and a fragment in the syntax of the others; `{}` is a folder.
POOR_OF = {
    "apache": """
ServerRoot {}
SSLSessionCache "shmcb:${{APACHE_RUN_DIR}}/cache(512000)"
<VirtualHost *:443>
    SSLEngine on
    SSLCertificateFile own.pem
    SSLCertificateKeyFile own.key
    SSLProtocol -all +TLSv1.2
    SSLHonorCipherOrder on
    SSLCipherSuite ECDHE-RSA-AES256-SHA
    SSLOpenSSLConfCmd Curves secp384r1:prime256v1
    ProxyPass / http://127.0.0.1:1/
</VirtualHost>
""",
    "haproxy": """
global
    crt-base {}
    ssl-default-bind-options ssl-max-ver TLSv1.2
    ssl-default-bind-ciphers HIGH
frontend web
    bind :443 ssl crt own.pem ciphers ECDHE-RSA-AES256-SHA curves secp384r1:prime256v1
    default_backend none
""",
}
NEW_OF = {
    "apache": "SSLProtocol -all +TLSv1.3\nSSLOpenSSLConfCmd Groups X25519\n",
    "haproxy": "global\n    ssl-default-bind-options ssl-min-ver TLSv1.3 ssl-max-ver TLSv1.3\n"
    "    ssl-default-bind-curves X25519\n",
}
SHOWN = {"apache": "Protocols http/1.1", "haproxy": "bind :443 ssl alpn h"}
LEFT_OUT = {"apache": "ProxyPass (line 12)", "haproxy": "default_backend (line 8)"}


@pytest.mark.parametrize("server", list(POOR_OF))
def test_the_files_of_other_servers_are_proved_on_them(
    tlslab: Tlslab, server: str, tmp_path: Path
) -> None:
    own_certificate(tmp_path)
    if server == "haproxy":
        beside = tmp_path / "own.pem.key"
        (tmp_path / "own.key").rename(beside)
    (tmp_path / "poor.conf").write_text(POOR_OF[server].format(tmp_path), "utf-8")
    (tmp_path / "new.conf").write_text(NEW_OF[server], "utf-8")
    files = ("--baseline", "poor.conf", "--candidate", "new.conf")
    how = ("--for", server, "--out", "r")
    shown = tlslab.run("prove", *how, *files, "--dry-run")
    assert shown.code == 0, shown.err
    assert f"not taken: {LEFT_OUT[server]}" in shown.err
    ended = tlslab.run("prove", *how, *files, "--json", TLSLAB_SHORT_RUNS="1")
    assert ended.code in (1, 4), ended.err
    found = json.loads(ended.out)
    assert found["environment"]["target"]["name"] == server
    before, after = (each["facts"] for each in found["environment"]["found"])
    assert (before["tls"], before["suite"], before["group"], before["signature_scheme"]) == (
        "1.2",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "P-384",
        "rsa_pss_rsae_sha256",
    )
    # A fragment: the certificate stays.
    assert (after["tls"], after["group"]) == ("1.3", "X25519")
    assert after["signature_scheme"] == "rsa_pss_rsae_sha256"
    assert [each["resume"] for each in found["environment"]["found"]] == ["ticket", "psk"]
    # The verdict is the same trade-off as nginx's: the lost clients are named.
    assert any(each["lost"] for each in _clients(found))
    report = tlslab.run("report", "r", "--details").out
    assert "it loses " in report
    assert SHOWN[server] in report


@pytest.mark.parametrize("server", list(POOR_OF))
def test_the_policies_choose_for_other_servers_too(
    tlslab: Tlslab, server: str, tmp_path: Path
) -> None:
    own_certificate(tmp_path)
    (tmp_path / "own.pem.key").write_bytes((tmp_path / "own.key").read_bytes())
    (tmp_path / "poor.conf").write_text(POOR_OF[server].format(tmp_path), "utf-8")
    arguments = ("--for", server, "--baseline", "poor.conf", "--out", "r", "--json")
    ended = tlslab.run("prove", *arguments, TLSLAB_SHORT_RUNS="1")
    assert ended.code in (1, 4), ended.err
    before, after = json.loads(ended.out)["environment"]["found"]
    assert (before["facts"]["tls"], after["facts"]["tls"]) == ("1.2", "1.3")
    assert after["facts"]["signature_scheme"] == "ecdsa_secp256r1_sha256"
    assert groups_of(after["offered"])[0] == "X25519"


@pytest.mark.parametrize(
    ("server", "text", "words"),
    [
        ("apache", "<VirtualHost a>\n", "my.conf:1: <VirtualHost> is not closed"),
        ("apache", "<VirtualHost a>\n</VirtualHost>\n", "no server in it has TLS"),
        ("haproxy", 'global\n  log "a\n', "my.conf:2: a quote is not closed"),
        ("haproxy", "frontend a\n  bind :80\n", "no server in it has TLS"),
    ],
)
def test_a_file_that_cannot_be_read_is_wrong_usage(
    tlslab: Tlslab, server: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "my.conf").write_text(text, "utf-8")
    ended = tlslab.run("prove", "--for", server, "--baseline", "my.conf")
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert words in ended.errors[0]


@pytest.mark.parametrize(
    ("server", "text", "words"),
    [
        (
            "apache",
            "SSLHonorCipherOrder on\nSSLProtocol TLSv1.9\n",
            "the baseline: apache refuses my.conf:2: SSLProtocol TLSv1.9: ",
        ),
        (
            "haproxy",
            "global\n  ssl-default-bind-options ssl-min-ver TLSv1.9\n",
            "the baseline: haproxy refuses my.conf:2: bind ssl-min-ver TLSv1.9: ",
        ),
    ],
)
def test_a_value_that_another_server_refuses_is_named_with_its_line(
    tlslab: Tlslab, server: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "my.conf").write_text(text, "utf-8")
    ended = tlslab.run("prove", "--for", server, "--baseline", "my.conf", "--quick", "--yes")
    assert ended.code == 3
    assert any(words in line for line in ended.errors), ended.err


def test_a_value_that_nginx_refuses_is_named_with_its_line(tlslab: Tlslab, tmp_path: Path) -> None:
    file = tmp_path / "typo.conf"
    file.write_text("ssl_prefer_server_ciphers on;\nssl_protocols TLSv1.9;\n")
    ended = tlslab.run("prove", "--for", "nginx", "--baseline", str(file), "--quick", "--yes")
    assert ended.code == 3
    words = f'the baseline: nginx refuses {file}:2: ssl_protocols TLSv1.9: invalid value "TLSv1.9"'
    assert any(words in line for line in ended.errors)
    assert "tlslab doctor" not in ended.err
    assert "nginx.conf" not in ended.err


# Rewrites the server's configuration and makes the server read it again, like an administrator.
SWITCH = """
set -eu
[ -z "${SLOW:-}" ] || [ "$1" != secp384r1 ] || { echo begun >> log; sleep "$SLOW"; }
[ -z "${UNTOUCHED:-}" ] || exit 0
sed -i "s/ssl_ecdh_curve .*/ssl_ecdh_curve $1;/" nginx.conf
kill -HUP "$(cat nginx.pid)"
echo "$1" >> log
[ "$1" != "${BROKEN:-}" ] || { echo "no right to" >&2; exit 3; }
"""
BEFORE, AFTER = "X25519:prime256v1", "secp384r1"


class LiveServer:
    """A foreign server, the two commands, and a log of what they did."""

    def __init__(self, tlslab: Tlslab, own: Own, folder: Path) -> None:
        self._tlslab, self._own, self._folder = tlslab, own, folder
        (folder / "switch.sh").write_text(SWITCH, "utf-8")

    @property
    def arguments(self) -> list[str]:
        return [
            "prove", "--url", self._own.url, "--ca", str(self._own.ca), "--out", "r",
            "--apply", f"sh -c 'sh switch.sh {AFTER} & wait $!'",
            "--revert", f"sh switch.sh {BEFORE}",
        ]  # fmt: skip

    def run(self, **variables: str) -> Ended:
        return self._tlslab.run(*self.arguments, TLSLAB_SHORT_RUNS="1", **variables)

    def start(self, **variables: str) -> Child:
        return self._tlslab.start(*self.arguments, "--quick", **variables)

    def log(self) -> list[str]:
        path = self._folder / "log"
        return path.read_text().split() if path.exists() else []

    def wait(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def is_as_before(self) -> bool:
        text = (self._folder / "nginx.conf").read_text()
        return f"ssl_ecdh_curve {BEFORE};" in text


@pytest.fixture
def live(tlslab: Tlslab, own_nginx: Own, tmp_path: Path) -> LiveServer:
    return LiveServer(tlslab, own_nginx, tmp_path)


@pytest.mark.capability("prove: a live server is given back")
def test_a_live_server_is_measured_with_both_and_given_back(
    live: LiveServer, tmp_path: Path
) -> None:
    ended = live.run()
    assert ended.code in (1, 4), ended.err
    assert live.is_as_before()
    assert live.log().count(AFTER) == live.log().count(BEFORE)
    made = [json.loads(line) for line in trials(tmp_path / "r")]
    groups = {
        trial["factors"]["configuration"]: {
            fact["group"] for run in trial["runs"].values() for fact in run["record"]["facts"]
        }
        for trial in made
    }
    assert groups == {"baseline": {"X25519"}, "candidate": {"P-384"}}
    assert "the server has the candidate now: sh -c" in ended.err
    assert "the server has the baseline now: sh switch.sh" in ended.err


def test_a_server_that_did_not_change_is_said_loudly(live: LiveServer) -> None:
    """The command ends with 0, but the server is as before."""
    ended = live.run(UNTOUCHED="1")
    assert ended.code in (1, 4), ended.err
    assert "warning: the server offers and does the same with baseline and candidate" in ended.err
    assert "--settle SECONDS" in ended.err


def test_a_live_proof_that_was_interrupted_goes_on_with_its_options(
    live: LiveServer, tmp_path: Path, tlslab: Tlslab
) -> None:
    """Without the --ca of the first command the server would not be trusted."""
    child = live.start()
    live.wait(lambda: bool(trials(tmp_path / "r")) and live.log()[-1] == AFTER)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    again = tlslab.start("run", "--resume", "r")
    done = len(trials(tmp_path / "r"))
    live.wait(lambda: len(trials(tmp_path / "r")) > done)
    again.send_signal(signal.SIGINT)
    _, said = again.communicate(timeout=60)
    assert again.returncode == 130, said
    assert live.is_as_before()


def test_a_change_that_outlives_the_lab_is_over_before_the_revert(live: LiveServer) -> None:
    """The command is slow, a grandchild does its work, and the lab is killed in the middle."""
    child = live.start(SLOW="3")
    live.wait(lambda: live.log()[-1:] == ["begun"])
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)
    live.wait(lambda: live.log()[-1] == BEFORE)
    assert live.log() == ["begun", AFTER, BEFORE]
    assert live.is_as_before()


def test_a_killed_lab_leaves_the_live_server_as_it_was(live: LiveServer) -> None:
    child = live.start()
    # The server is given a second after the command: the lab is not at the next command yet.
    live.wait(lambda: live.log()[-1:] == [AFTER])
    child.send_signal(signal.SIGKILL)
    _, said = child.communicate(timeout=60)
    live.wait(lambda: live.log()[-1] == BEFORE)
    assert live.is_as_before()
    assert "tlslab: killed; the server was reverted: sh switch.sh" in said


def test_a_lab_killed_between_trials_leaves_it_too(live: LiveServer, tmp_path: Path) -> None:
    child = live.start()
    live.wait(lambda: bool(trials(tmp_path / "r")) and live.log()[-1] == AFTER)
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)
    live.wait(lambda: live.log()[-1] == BEFORE)
    assert live.is_as_before()
    assert trials(tmp_path / "r")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reverts_and_keeps_what_is_finished(
    live: LiveServer, tmp_path: Path, number: signal.Signals
) -> None:
    child = live.start()
    live.wait(lambda: bool(trials(tmp_path / "r")) and live.log()[-1] == AFTER)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130, said
    assert live.is_as_before()
    assert "the server has the baseline now" in said
    assert (tmp_path / "r" / "summary.json").exists()


def test_a_revert_that_fails_is_said_loudly_with_the_command(live: LiveServer) -> None:
    ended = live.run(BROKEN=BEFORE)
    assert ended.code == 3
    assert "THE REVERT FAILED, the server still has the candidate" in ended.errors[0]
    assert f"help: run it yourself now: sh switch.sh {BEFORE}" in ended.err


def test_a_candidate_that_cannot_be_applied_is_reverted(live: LiveServer) -> None:
    ended = live.run(BROKEN=AFTER)
    assert ended.code == 3
    assert "ended with 3: no right to" in ended.errors[0]
    assert live.is_as_before()
