"""The lab's own servers on an address of this machine other than 127.0.0.1."""

import socket
import ssl
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from live.harness import Tlslab, setting
from tlslab.domain.deployment import Deployment
from tlslab.domain.profile import Profile
from tlslab.lab.engine import local_pool
from tlslab.lab.specs import Aim, preflight_spec
from tlslab.servers import MANAGED, build

SERVERS = [name for name, kind in MANAGED.items() if kind.installed]

# On loopback, too, so that the test needs no address of this machine.
OTHER = "127.0.0.2"


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


ADDRESSES = [OTHER, pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6"))]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_listens_on_the_address_and_has_a_certificate_for_it(
    name: str, address: str, tmp_path: Path
) -> None:
    wanted = replace(setting(tmp_path, "ecdsa-p256"), listen=address)
    target = build(Deployment(name), wanted)
    target.prepare()
    running = target.start()
    try:
        place = urlsplit(running.url)
        assert (place.hostname, place.port is None) == (address, False)
        aim = Aim(running.url, target.trust_pem, allow=(address,))
        found, _ = local_pool().preflight(preflight_spec(aim, Profile("1.3", key="ecdsa-p256")))
        assert found.status == 200
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", place.port), 5).close()
        context = ssl.create_default_context(cadata=target.trust_pem)
        with (
            socket.create_connection((address, place.port), 5) as plain,
            context.wrap_socket(plain, server_hostname=address) as connection,
        ):
            assert connection.version() == "TLSv1.3"
    finally:
        running.stop()


def test_a_run_on_another_address_needs_no_leave(tlslab: Tlslab, small: object) -> None:
    assert callable(small)
    wanted = ["run", small(), "--target", "nginx"]
    ended = tlslab.run(*wanted, "--listen", OTHER, "--out", "r")
    assert ended.code in (0, 1), ended.err
    ended = tlslab.run(*wanted, "--listen", "192.0.2.1")
    assert ended.code == 2
    assert "--listen 192.0.2.1: not an address of this machine" in ended.errors[0]
