"""Whether a client connects with a configuration, from what a probe found."""

from typing import Any, cast

import pytest

from factories.offered import offered
from tlslab.contract.probe import ProbeRecord
from tlslab.domain.errors import CannotRunError
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.proof.discover import client_named, discover
from tlslab.lab.specs import Aim

AIM = Aim("https://example.invalid/", "anyone")


class Probing:
    """An engine whose probes find this offer."""

    def __init__(self, found: ProbeRecord) -> None:
        self._found = found

    def probe(self, spec: object) -> ProbeRecord:
        """The offer, whatever is asked for."""
        return self._found


@pytest.mark.parametrize(
    ("more", "message", "remedy"),
    [
        ({"spoken": ()}, "the candidate accepts no version of TLS", "a client certificate"),
        ({"spoken": ("1.0",)}, "does not connect with the candidate", "--client NAME"),
        (
            {"spoken": (), "incomplete": "the limit of 20 connections was reached"},
            "cannot tell whether Chromium 156 connects with the candidate",
            "try again",
        ),
    ],
)
def test_a_client_that_does_not_connect_differs_from_one_of_which_that_is_not_known(
    more: dict[str, Any], message: str, remedy: str
) -> None:
    engine = cast(GeneratorPool, Probing(offered(**more)))
    with pytest.raises(CannotRunError) as raised:
        discover(engine, AIM, "candidate", client_named("Chromium 156"), "1.1")
    assert message in raised.value.message
    assert remedy in raised.value.remedy
