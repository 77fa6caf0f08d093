"""The sentences of effects, in the words of one kept case."""

from typing import Any

import pytest

from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Summary
from tlslab.words.effects import SENTENCES

COST = "server_cpu_us_per_connection"


def ratio(value: float) -> Estimate:
    return Estimate(value, value * 0.98, value * 1.02, 10, "ratio", "")


def effect(level: str, value: float, **more: Any) -> dict[str, Any]:
    factor, against = ("tls", "1.2") if level == "1.3" else ("key", "rsa-2048")
    stated = {
        "factor": factor, "level": level, "against": against, "ratio": ratio(value),
        "established": True, "may_differ": 0.05, "alike": [], "at": [],
    }  # fmt: skip
    return {**stated, **more}


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        (
            [effect("ecdsa-p256", 0.49, alike=["tls"]), effect("1.3", 1.33)],
            "New connection: the server's time with ECDSA P-256 is 0.49 times (95 %: 0.48 to 0.50) "
            "that with RSA-2048, alike for every TLS version; with TLS 1.3 1.33 times "
            "(95 %: 1.30 to 1.36) that with TLS 1.2.",
        ),
        (
            [
                effect(
                    "1.3",
                    1.3,
                    at=[
                        {"key": "rsa-2048", "ratio": ratio(1.1)},
                        {"key": "ecdsa-p256", "ratio": ratio(1.5)},
                    ],
                )
            ],
            "New connection: the server's time with TLS 1.3 instead of TLS 1.2 is 1.10 times "
            "(95 %: 1.078 to 1.12) for RSA-2048 and 1.50 times (95 %: 1.47 to 1.53) for ECDSA "
            "P-256.",
        ),
        (
            [effect("1.3", 1.01, established=False)],
            "New connection: the server's time with TLS 1.3 and with TLS 1.2: 5 % apart at most.",
        ),
    ],
)
def test_an_effect_is_said_with_its_interval(
    effects: list[dict[str, Any]], words: str, full_summary: Summary
) -> None:
    values = {"measure": "new", "estimate": COST, "effects": effects}
    assert SENTENCES["effects"](values, (), full_summary) == words


def test_the_cheapest_combination_is_named(full_summary: Summary) -> None:
    values = {
        "levels": {"tls": "1.2", "key": "ecdsa-p256"},
        "measure": "new",
        "estimate": COST,
        "value": Estimate(250.0, 245.0, 255.0, 10, "us", ""),
        "not_apart": [],
    }
    tied = {**values, "not_apart": [{"tls": "1.3", "key": "ecdsa-p256"}]}
    said = SENTENCES["best_combination"](tied, (), full_summary)
    assert said.endswith("; not told apart from it: TLS 1.3, ECDSA P-256.")
    assert SENTENCES["best_combination"](values, (), full_summary) == (
        "Least of the server's time for a new connection: TLS 1.2, ECDSA P-256, "
        "250 µs (95 %: 245 to 255)."
    )
    beside_none = SENTENCES["best_combination"]({**values, "with_tls": True}, (), full_summary)
    assert beside_none.startswith("With TLS, least of the server's time for a new connection: ")
