"""A user without a home folder, as in a container with an unknown user id."""

import pwd

import pytest


def without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes HOME and the entry of the user in /etc/passwd away."""

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
