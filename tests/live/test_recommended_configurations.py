"""Every recommended file is loaded by its server unchanged, and offers exactly its settings."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from live.emitted import KEYS, serving
from live.harness import Tlslab
from live.studies import assert_whole, study_named
from tlslab.advice.emit import FORMS, Offer, Preference, offer_of
from tlslab.advice.policy import policies
from tlslab.advice.setting_grade import Subject, unmeasured_groups
from tlslab.servers.programs import require_program

# Orders that no server has by default.
ORDERS: dict[Subject, tuple[str, ...]] = {
    "group": ("P-384", "X25519", "P-256"),
    "suite": (
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    ),
}

# Everything that a run may find and recommend of groups: all to which no policy objects.
EVERY_GROUP = Preference("group", "reference", unmeasured_groups(policies()))

# Each server with the keys of its certificates. HAProxy uses the ECDSA certificate for each client
# that offers any ECDSA suite; the emitted connector of Tomcat has one certificate.
SERVERS = {
    "nginx": KEYS,
    "apache": KEYS,
    "haproxy": ("rsa-2048",),
    "node": KEYS,
    "caddy": KEYS,
    "tomcat-jsse": ("ecdsa-p256",),
    "tomcat-openssl": ("rsa-2048",),
    "jvm": KEYS,
    "openssl": KEYS,
}

# The side that selects among the offered settings, if the server's order does not decide.
ELSE_CHOOSES = {
    "caddy": ("suites", "groups"),
    "tomcat-jsse": ("groups",),
    "jvm": ("groups",),
}

# Settings that a library lacks and therefore cannot offer.
LACKING = {"caddy": ("X448",)}


def form_of(server: str) -> str:
    return server.partition("-")[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study `groups`, in short trials: each group on nginx, in five blocks."""
    folder = tmp_path_factory.mktemp("run")
    lab = Tlslab(folder)
    lab.private.mkdir()
    options = ("--blocks", "5", "--seconds", "0.3", *study_named("groups").flags)
    ended = lab.finish(lab.start("run", "groups", "--quick", "--out", "groups", *options), 300)
    assert ended.code in (0, 1), ended.err
    return folder / "groups"


def test_the_study_of_groups_is_carried_out_whole(run: Path) -> None:
    assert_whole(run, study_named("groups"))


def probed(place: str) -> dict[str, Any]:
    command = [require_program("tlslab-load"), "probe", place, "--json", "--insecure"]
    command += ["--sni", "localhost", "--only", "versions,suites,groups"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def lists(found: dict[str, Any], topic: str) -> dict[str, tuple[list[str], str]]:
    """The accepted settings of each version, and the side whose order decides."""
    return {
        each["version"]: ([one["name"] for one in each["accepted"]], each["order"])
        for each in found[topic]
        if each["accepted"]
    }


def usable(suites: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The suites that can be served with these certificates."""
    kinds = {key.partition("-")[0].upper() for key in keys}
    return [s for s in suites if "_WITH_" not in s or s.split("_")[2] in kinds]


def assert_offers(server: str, found: dict[str, Any], offer: dict[str, Any]) -> None:
    """Exactly the versions, suites and groups of an offer; in its order if the server keeps it.

    An ECDSA certificate alone needs its own curve in TLS 1.2, so that the probe cannot see the
    groups behind it.
    """
    keys = SERVERS[server]
    assert found["unanswered"] == []
    accepted = {each["version"] for each in found["versions"] if each["accepted"]}
    assert accepted == set(offer["versions"]), found["versions"]
    suites = lists(found, "suites")
    wanted = {
        "1.3": [name for name in offer["suites"] if "_WITH_" not in name],
        "1.2": usable([name for name in offer["suites"] if "_WITH_" in name], keys),
    }
    assert set(suites) == {version for version, names in wanted.items() if names}
    for version, (names, order) in suites.items():
        assert_list(server, "suites", names, order, wanted[version])
    groups = lists(found, "groups")
    here = [name for name in offer["groups"] if name not in LACKING.get(server, ())]
    assert_list(server, "groups", *groups["1.3"], here)
    if "rsa-2048" in keys:
        older = [name for name in here if "MLKEM" not in name]
        assert_list(server, "groups", *groups["1.2"], older)


def assert_list(server: str, topic: str, names: list[str], order: str, wanted: list[str]) -> None:
    if topic in ELSE_CHOOSES.get(server, ()):
        assert sorted(names) == sorted(wanted)
        return
    assert names == wanted
    # One of the probe's offers has ChaCha20 first. HAProxy makes an exception for it.
    if len(names) > 1 and not (server == "haproxy" and "CHACHA20" in names[-1]):
        assert order == "server"


def offered(offer: Offer) -> dict[str, Any]:
    suites = (*offer.suites13, *offer.suites12)
    return {
        "versions": offer.versions,
        "suites": [suite.name for suite in suites],
        "groups": [group.name for group in offer.groups],
    }


@pytest.mark.capability(
    "servers take the recommended configuration",
    only=("nginx-suite", "apache-suite", "haproxy-suite", "node-suite"),
)
@pytest.mark.parametrize("subject", ["suite", "group"])
@pytest.mark.parametrize("server", list(SERVERS))
def test_a_server_offers_exactly_what_was_emitted_for_it(
    server: str, subject: Subject, tmp_path: Path
) -> None:
    asked = Preference(subject, "reference", ORDERS[subject])
    form = FORMS[form_of(server)]
    offer = offer_of(asked, policies(), form_of(server))
    text = form.text(offer, ("measured -- nothing; \x1b[31m\n it is a test",))
    assert text is not None
    with serving(server, tmp_path, text, SERVERS[server]) as place:
        found = probed(place)
    assert_offers(server, found, offered(offer))
    measured = lists(found, "groups")["1.3"][0]
    assert subject == "suite" or sorted(measured) == sorted(ORDERS["group"])


@pytest.mark.parametrize("server", list(SERVERS))
def test_what_one_run_recommends_is_what_the_server_offers(
    run: Path, server: str, tlslab: Tlslab, tmp_path: Path
) -> None:
    asked = ("recommend", str(run), "--for", form_of(server), "--out", "emitted", "--json")
    ended = tlslab.finish(tlslab.start(*asked), 280)
    assert ended.code == 0, ended.err
    recommendation = json.loads(ended.out)
    text = (tmp_path / "emitted").read_text("utf-8")
    assert text == recommendation["configuration"]
    assert recommendation["order"] == recommendation["offer"]["groups"]
    with serving(server, tmp_path / "served", text, SERVERS[server]) as place:
        assert_offers(server, probed(place), recommendation["offer"])


def test_haproxy_puts_chacha20_first_for_clients_that_prefer_it(tmp_path: Path) -> None:
    offer = offer_of(EVERY_GROUP, policies(), "haproxy")
    text = FORMS["haproxy"].text(offer, ())
    assert text is not None
    chacha, aes = "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES256-GCM-SHA384"
    with serving("haproxy", tmp_path, text, ("rsa-2048",)) as place:
        assert agreed(place, "-tls1_2", "-cipher", f"{chacha}:{aes}")["Cipher is "] == chacha
        other = f"ECDHE-RSA-AES128-GCM-SHA256:{chacha}:{aes}"
        assert agreed(place, "-tls1_2", "-cipher", other)["Cipher is "] == aes


def test_a_key_share_comes_before_the_order_of_groups(tmp_path: Path) -> None:
    """As explained: OpenSSL requests another group only if it lacks the group of the share."""
    offer = offer_of(EVERY_GROUP, policies(), "nginx")
    text = FORMS["nginx"].text(offer, ())
    assert text is not None
    with serving("nginx", tmp_path, text) as place:
        assert "prime256v1" in agreed(place, "-groups", "P-256:X25519")["Temp Key: "]


def agreed(place: str, *options: str) -> dict[str, str]:
    """The report of `openssl s_client` on a connection, by the labels in front of the values."""
    command = ["openssl", "s_client", "-connect", place, "-servername", "localhost", *options]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=30)
    words = ("Cipher is ", "Temp Key: ")
    return {
        word: line.partition(word)[2]
        for line in done.stdout.splitlines()
        for word in words
        if word in line
    }


def test_a_run_of_one_block_cannot_tell_and_says_so(tlslab: Tlslab, tmp_path: Path) -> None:
    options = ("--quick", "--blocks", "1", "--seconds", "0.2", "--out", "one")
    tlslab.run("run", "groups", "--set", "group=P-384,X25519", *options)
    ended = tlslab.run("recommend", "one", "--for", "openssl")
    assert ended.code == 0
    assert "cannot tell" in ended.err.splitlines()[-1]
    assert "The order is that of the policies alone." in ended.err
    assert "\nGroups = X25519:secp384r1\n" in ended.out
