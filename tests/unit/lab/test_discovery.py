"""Facts about a server that the lab did not start."""

from collections.abc import Callable

import pytest

from tlslab.domain.errors import EngineError
from tlslab.experiment import at_url, dumps, load, loads, make_plan, refuse_levels
from tlslab.lab.discovery import discover
from tlslab.lab.engine import Engine
from tlslab.lab.specs import Aim

Script = Callable[[str], str]

AIM = Aim("https://example.invalid:8443/d?q=1", "anyone")
SERVER = """
tls = json.load(sys.stdin)['tls']
def fail(name, message):
    print(json.dumps({'schema': 'tlslab.error/1', 'class': name, 'message': message}))
    sys.exit(3)
def served(key):
    record['preflight']['certificate']['key'] = key
    print(json.dumps({'schema': 'tlslab.preflight/1', 'address': 'a', 'backend': 'rustls',
                      'preflight': record['preflight']}))
    sys.exit(0)
schemes = tls['signature_schemes']
"""


def test_versions_and_keys_become_the_servers_own(script: Script) -> None:
    body = (
        "if '1.2' in tls['versions']: fail('alert_protocol_version', 'no such version')\n"
        "if any(s.startswith('rsa') for s in schemes): fail('alert_handshake_failure', 'no key')\n"
        "served('ECDSA P-384')"
    )
    found = discover(Engine(script(SERVER + body)), [AIM], load("groups"))
    plan = make_plan(found.experiment, 1, refuse_levels(found.servers[0].unavailable))
    assert {cell.factors["key"] for cell in plan.cells} == {"ecdsa-p384"}
    assert {cell.factors["tls"] for cell in plan.cells} == {"1.3"}
    assert len(plan.cells) == 7
    profile = plan.cells[0].profile
    assert profile.signature_schemes == ("ecdsa_secp384r1_sha384",)
    reasons = {excluded.reason for excluded in plan.excluded}
    assert "the server has no TLS 1.2: no such version" in reasons
    assert "the server serves ecdsa-p384, not rsa-2048" in reasons
    assert (found.servers[0].info.host, found.servers[0].info.path) == ("example.invalid", "/d?q=1")
    assert found.servers[0].info.software == "fake"


def test_each_of_several_servers_has_its_own_levels(script: Script) -> None:
    """The cells of one server's key are left out for the other, with the key that it serves."""
    body = (
        "rsa = 'second' in json.dumps(spec)\n"
        "if '1.2' in tls['versions'] and not rsa: fail('alert_protocol_version', 'no such')\n"
        "served('RSA-2048' if rsa else 'ECDSA P-384')"
    )
    server = SERVER.replace(
        "tls = json.load(sys.stdin)['tls']", "spec = json.load(sys.stdin)\ntls = spec['tls']"
    )
    aims = [Aim(f"https://{name}.invalid/", "anyone") for name in ("first", "second")]
    found = discover(Engine(script(server + body)), aims, load("groups"))
    assert found.experiment.levels("key") == ("ecdsa-p384", "rsa-2048", "ecdsa-p256")
    first, second = (each.unavailable for each in found.servers)
    assert first["tls", "1.2"] == "first.invalid has no TLS 1.2: no such"
    assert first["key", "rsa-2048"] == "first.invalid serves ecdsa-p384, not rsa-2048"
    assert second["key", "ecdsa-p384"] == "second.invalid serves rsa-2048, not ecdsa-p384"
    assert ("tls", "1.2") not in second
    assert ("key", "rsa-2048") not in second
    assert [each.info.host for each in found.servers] == ["first.invalid", "second.invalid"]


def test_levels_that_a_command_configures_are_available(script: Script) -> None:
    body = "served('ECDSA P-384')"
    configured = frozenset({"key"})
    found = discover(Engine(script(SERVER + body)), [AIM], load("groups"), configured)
    assert found.servers[0].unavailable == {}
    assert found.experiment == load("groups")


def test_a_server_with_both_kinds_of_key_is_measured_with_both(script: Script) -> None:
    body = "served('RSA-2048' if schemes and schemes[0].startswith('rsa') else 'ECDSA P-256')"
    found = discover(Engine(script(SERVER + body)), [AIM], load("groups"))
    assert found.servers[0].unavailable == {}
    assert found.experiment == load("groups")


@pytest.mark.parametrize("class_", ["refused", "tls_protocol", "certificate", "timeout_connect"])
def test_a_server_that_cannot_be_measured_at_all_is_an_error(script: Script, class_: str) -> None:
    with pytest.raises(EngineError) as caught:
        discover(Engine(script(SERVER + f"fail({class_!r}, 'words')")), [AIM], load("groups"))
    assert caught.value.class_ == class_


def test_an_odd_certificate_key_gives_a_sanitised_level(script: Script) -> None:
    body = "served('<b>RSA</b>\\x1b[31m' + 'x' * 300)"
    found = discover(Engine(script(SERVER + body)), [AIM], load("groups"))
    key = found.experiment.factors[1].levels[0]
    assert key.startswith("other-b-rsa-b-31m")
    assert len(key) <= 40
    assert loads(dumps(found.experiment), "f") == found.experiment


def test_an_rsa_key_of_any_size_is_pinned_like_the_others(script: Script) -> None:
    found = discover(Engine(script(SERVER + "served('RSA-8192')")), [AIM], load("groups"))
    plan = make_plan(found.experiment, 1, refuse_levels(found.servers[0].unavailable))
    assert {cell.factors["key"] for cell in plan.cells} == {"rsa-8192"}
    assert {cell.profile.signature_schemes for cell in plan.cells} == {
        ("rsa_pss_rsae_sha256",),
        ("rsa_pkcs1_sha256",),
    }


def test_behind_a_device_that_reads_one_segment_cells_are_tried(script: Script) -> None:
    """The usual offer has a hybrid group: its key share makes the ClientHello too long."""
    body = "if tls['groups'] != ['X25519']: fail('reset', 'reset')\nserved('ECDSA P-256')"
    found = discover(Engine(script(SERVER + body)), [AIM], load("groups", "quick"))
    plan = make_plan(found.experiment, 1, refuse_levels(found.servers[0].unavailable))
    groups = {cell.factors["group"]: cell.profile.groups for cell in plan.cells}
    assert groups["X25519MLKEM768"] == ("X25519MLKEM768",)  # the cell's own failure
    suites = discover(Engine(script(SERVER + body)), [AIM], at_url(load("suites"))).experiment
    assert {cell.profile.groups for cell in make_plan(suites, 1).cells} == {("X25519",)}
    with pytest.raises(EngineError, match=r"^reset$"):
        discover(Engine(script(SERVER + "fail('reset', 'reset')")), [AIM], load("groups"))


def test_a_key_that_rustls_lacks_is_measured_with_openssl(script: Script) -> None:
    """The engine has chosen OpenSSL: every cell gets it, so that they stay comparable."""
    body = "if schemes: fail('alert_handshake_failure', 'no')\nserved('Ed448')"
    server = SERVER.replace("'rustls'", "'openssl'")
    found = discover(Engine(script(server + body)), [AIM], load("groups"))
    plan = make_plan(found.experiment, 1, refuse_levels(found.servers[0].unavailable))
    assert {cell.profile.backend for cell in plan.cells} == {"openssl"}
    assert {cell.factors["key"] for cell in plan.cells} == {"other-ed448"}
    # A run that is resumed keeps its experiment.
    again = discover(Engine(script(server + body)), [AIM], loads(dumps(found.experiment), "x"))
    assert again.experiment.pins == found.experiment.pins


def test_a_short_form_falls_back_on_the_versions_of_the_long_one(script: Script) -> None:
    body = (
        "if '1.3' in tls['versions']: fail('alert_protocol_version', 'no such version')\n"
        "if any(s.startswith('ecdsa') for s in schemes): fail('alert_handshake_failure', 'no')\n"
        "served('RSA-2048')"
    )
    engine, brief = Engine(script(SERVER + body)), load("groups", "quick")
    found = discover(engine, [AIM], brief, spare_versions=("1.2",))
    plan = make_plan(found.experiment, 1, refuse_levels(found.servers[0].unavailable))
    cells = {(cell.factors["tls"], cell.factors["key"]) for cell in plan.cells}
    assert cells == {("1.2", "rsa-2048")}
    # A version that the user names is not replaced.
    kept = discover(engine, [AIM], brief)
    assert make_plan(kept.experiment, 1, refuse_levels(kept.servers[0].unavailable)).cells == ()
