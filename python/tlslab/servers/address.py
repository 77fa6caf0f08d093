"""Addresses of this machine on which its servers can listen."""

import ipaddress

import psutil

from tlslab.domain.errors import UsageError

LOOPBACK = "127.0.0.1"


def in_url(address: str) -> str:
    """An address in the syntax of URLs: an IPv6 address in brackets (RFC 3986, section 3.2.2)."""
    return f"[{address}]" if ":" in address else address


def own_address(text: str) -> str:
    """The address in canonical form. Raises UsageError if this machine does not have it.

    `0.0.0.0` and `::`, which stand for all addresses, are refused: such a server would be reachable
    from every network of this machine.
    """
    try:
        wanted = ipaddress.ip_address(text)
    except ValueError:
        raise UsageError(
            f"--listen {text}: not an IP address", f"this machine has {', '.join(own_addresses())}"
        ) from None
    if str(wanted) not in own_addresses() and not wanted.is_loopback:
        raise UsageError(
            f"--listen {text}: not an address of this machine",
            f"it has {', '.join(own_addresses())}",
        )
    return str(wanted)


def own_addresses() -> list[str]:
    """The addresses of all interfaces, without link-local IPv6 ones.

    These need a zone, which URLs lack.
    """
    found = []
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            try:
                address = ipaddress.ip_address(each.address)
            except ValueError:
                continue  # An address of the link layer.
            if not address.is_link_local:
                found.append(str(address))
    return found
