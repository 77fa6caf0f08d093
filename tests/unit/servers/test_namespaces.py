"""Namespaces have the name of their lab."""

import ipaddress
import os
import subprocess

import pytest

from live.hosts import REQUIRED, lacking
from tlslab.servers import namespaces
from tlslab.servers.namespaces import POOL, obstacle, remove_forsaken


class Ip:
    """Takes the place of the program ip."""

    def __init__(self, listed: str = "", reported: str = "[]") -> None:
        self.listed, self.reported = listed, reported
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.calls.append(arguments)
        text = self.listed if arguments == ("netns", "list") else self.reported
        return subprocess.CompletedProcess(arguments, 0, text, "")


def test_only_what_labs_have_left_behind_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    own = namespaces._name(1)
    reused = f"tlslab-{os.getpid()}-1-1"
    ip = Ip(f"{own} (id: 0)\n{reused}\ntlslab-4194305-7-2 (id: 3)\nothers\n")
    monkeypatch.setattr(namespaces, "_ip", ip)
    assert remove_forsaken() == 2
    removed = [call[2] for call in ip.calls if call[:2] == ("netns", "del")]
    assert removed == [reused, "tlslab-4194305-7-2"]


def test_subnets_in_use_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_ip", Ip())
    first = next(namespaces._free_subnets())
    assert first.subnet_of(POOL)
    taken = f'[{{"addr_info": [{{"local": "{first[1]}"}}]}}]'
    monkeypatch.setattr(namespaces, "_ip", Ip(reported=taken))
    assert ipaddress.IPv4Address(first[1]) not in next(namespaces._free_subnets())


def test_without_root_it_is_said_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert obstacle() == "network namespaces need root"


def test_no_name_is_used_twice_and_links_are_gone_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may keep a namespace, and with it its link, after a request to end it."""
    ip = Ip()
    monkeypatch.setattr(namespaces, "_ip", ip)
    with namespaces.namespaces(2) as first:
        pass
    with namespaces.namespaces(2) as second:
        pass
    spaces = (*first, *second)
    assert len({space.name for space in spaces}) == len({space.link for space in spaces}) == 4
    assert max(len(space.link) for space in spaces) <= 15
    ended = [call[2] for call in ip.calls if call[:2] == ("link", "del")]
    assert ended == [space.link for space in spaces]


def test_tests_that_need_namespaces_fail_where_they_may_not_be_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv(REQUIRED, raising=False)
    assert lacking() == "network namespaces need root"
    monkeypatch.setenv(REQUIRED, "1")
    with pytest.raises(RuntimeError, match="NAMESPACES=1, but network namespaces need root"):
        lacking()
