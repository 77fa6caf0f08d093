"""Fixtures for the tests of targets."""

from pathlib import Path

import pytest

from tlslab.servers.certificates import Authority


@pytest.fixture
def own_authority(tmp_path: Path) -> str:
    """The PEM of an authority that no one else trusts."""
    authority = Authority(tmp_path)
    authority.issue("ecdsa-p256")
    return authority.trust_pem
