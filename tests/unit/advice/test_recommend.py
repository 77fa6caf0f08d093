"""One choice among suites of which the fastest is broken: what is weighed, and at what price."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from factories.run import made_run
from tlslab.advice.emit import FORMS, offer_of
from tlslab.advice.explain import comments, explanation, front, pareto_table, reason
from tlslab.advice.field import Field, field_of
from tlslab.advice.policy import policies, policies_named
from tlslab.advice.recommend import Aim, Price, Recommendation, decide, measures, preference, rivals
from tlslab.analysis.compare import Measured
from tlslab.analysis.trade_offs import ratio, weigh
from tlslab.model.finding import CellSummary, CellVerdict

BROKEN = "TLS_RSA_WITH_AES_128_GCM_SHA256"
FAST = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
SAFE = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
RATE, BYTES = "keep_alive_requests_per_s", "wire_bytes_per_handshake"
ENVIRONMENT = made_run(quick=True).environment
RATES = {BROKEN: 1200.0, FAST: 1000.0, SAFE: 800.0}


def cells(
    rates: Mapping[str, float], noise: float = 0.002, verdict: CellVerdict = "valid"
) -> list[Measured]:
    found = []
    for seed, (suite, rate) in enumerate(rates.items()):
        factors = {"tls": "1.2", "suite": suite, "http": "2", "dh_bits": "none"}
        summary = CellSummary(suite, factors, verdict, (), 8, {})
        drawn = rate * np.exp(np.random.default_rng(seed).normal(0, noise, 8))
        size = 1500.0 if suite == FAST else 1400.0
        values = {RATE: dict(enumerate(map(float, drawn))), BYTES: dict.fromkeys(range(8), size)}
        found.append(Measured(summary, values))
    return found


def field(found: list[Measured], *names: str, server: str = "nginx") -> Field:
    summaries = [cell.summary for cell in found]
    return field_of("suite", summaries, ENVIRONMENT, policies_named(names), server)


def recommended(found: list[Measured], aim: Aim = "throughput") -> Recommendation:
    whole = field(found)
    decided = decide(whole, aim, weigh(found, whole.security, measures(aim, "suite")))
    assert decided is not None
    broken = next((cell.summary.key for cell in found if cell.summary.key == BROKEN), None)
    prices = []
    for rival, cell, measure in rivals(decided, broken):
        against = ratio(found, decided.order[0], cell, measure)
        assert against is not None
        prices.append(Price(rival, cell, measure, against))
    return replace(decided, prices=tuple(prices))


def said(found: Recommendation) -> str:
    offer = offer_of(preference(found), policies(), "nginx")
    return "\n".join(explanation(found, FORMS["nginx"], offer))


def test_the_fastest_is_not_recommended_when_it_is_broken_and_stands_as_the_price() -> None:
    found = recommended(cells(RATES))
    assert found.names == (FAST, SAFE)
    words = said(found)
    assert "the best of all by requests/s on connections kept open is AES128-GCM-SHA256" in words
    assert "not recommended: RFC 10015" in words
    assert "ECDHE-RSA-AES128-GCM-SHA256 has 0.83 (95 %: " in words
    assert "safer by the policies is ECDHE-RSA-AES256-GCM-SHA384" in words
    assert (
        "elsewhere: by bytes of a handshake on the wire ECDHE-RSA-AES256-GCM-SHA384 is better"
        in words
    )


def test_security_as_the_aim_names_what_it_is_paid_with() -> None:
    found = recommended(cells(RATES), "security")
    assert found.names == (SAFE, FAST)
    assert "is the safest by the policies" in reason(found)
    assert "security: ECDHE-RSA-AES256-GCM-SHA384 has 0.80" in said(found)


def test_what_cannot_be_set_apart_is_decided_by_security() -> None:
    found = recommended(cells({FAST: 1000.0, SAFE: 999.0}))
    assert found.names == (SAFE, FAST)
    assert "is the safest of them" in reason(found)
    assert found.equals == {SAFE, FAST}


def test_a_run_that_cannot_tell_says_so() -> None:
    found = recommended(cells({FAST: 1000.0, SAFE: 900.0}, noise=0.6))
    assert found.names == (SAFE, FAST)
    assert "This run cannot tell which is best" in reason(found)
    assert "order is that of the policies alone" in reason(found)


def test_nothing_is_recommended_of_what_every_policy_refuses() -> None:
    found = cells({BROKEN: 1.0})
    whole = field(found)
    assert decide(whole, "throughput", weigh(found, whole.security, ())) is None


def test_what_the_server_was_not_seen_to_do_is_no_candidate() -> None:
    found = cells({FAST: 1.0}) + cells({SAFE: 1.0}, verdict="unsupported")
    assert [each.name for each in field(found).lacking] == [SAFE]
    assert "was not seen to do it" in said(recommended(found))


def test_a_candidate_without_a_valid_measurement_was_not_beaten() -> None:
    chacha = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
    found = recommended(
        cells({FAST: 1000.0, SAFE: 800.0}) + cells({chacha: 900.0}, verdict="invalid")
    )
    assert found.names == (FAST, SAFE, chacha)
    assert "is the best of the 2 measured, of 3 that no policy objects to" in reason(found)
    assert "last in the order: ECDHE-RSA-CHACHA20-POLY1305" in said(found)
    alone = recommended(cells({FAST: 1000.0}) + cells({SAFE: 800.0}, verdict="invalid"))
    assert "alone has a valid measurement, of 2 that no policy objects to" in reason(alone)
    assert "probability" not in reason(alone)
    assert "is the best of 2 that no policy objects to" in reason(recommended(cells(RATES)))


def test_policies_that_do_not_count_do_not_object() -> None:
    found = cells({"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": 1.0})
    assert field(found).allowed
    assert not field(found, "rfc9325").allowed


@pytest.mark.parametrize(("server", "setting"), [("apache", "apache"), ("haproxy", "nginx")])
def test_the_setting_of_the_server_itself_is_taken(server: str, setting: str) -> None:
    both = []
    for name in ("nginx", "apache"):
        for each in cells({FAST: 1.0, SAFE: 1.0}):
            factors = {"server": name, **each.summary.factors}
            both.append(replace(each, summary=replace(each.summary, factors=factors)))
    found = field(both, server=server)
    assert (found.server, found.others) == (setting, 1)


def test_the_table_has_the_candidates_in_their_order_with_probabilities() -> None:
    found = recommended(cells(RATES))
    table = pareto_table(found)
    assert table is not None
    assert [row[0] for row in table.rows] == [
        "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-RSA-AES256-GCM-SHA384",
    ]
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert "over 99 %" in str(table.rows[0][2])
    assert front(found)


def test_the_head_of_the_file_has_choice_reason_and_objections() -> None:
    found = recommended(cells(RATES))
    offer = offer_of(preference(found), policies(), "nginx")
    head = " ".join(comments(found, FORMS["nginx"], offer))
    assert head.startswith("tlslab recommend, aim throughput: ECDHE-RSA-AES128-GCM-SHA256, then")
    assert "left out: AES128-GCM-SHA256: RFC 10015" in head
    assert "Not measured: suites of TLS 1.3 and groups" in head
