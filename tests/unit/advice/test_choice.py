"""One choice among suites of which the fastest is broken: the weighed measures, and the price."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from factories.run import made_run
from tlslab.advice.choice import Entry, Field, Recommendation, decide, field_of, measures
from tlslab.advice.policy import policies, policies_named
from tlslab.advice.setting_grade import Graded, Opinion
from tlslab.analysis.compare import Measured
from tlslab.analysis.trade_offs import weigh
from tlslab.domain.finding import CellSummary, CellVerdict
from tlslab.domain.names import SUITES
from tlslab.domain.recommendation import Aim
from tlslab.lab.results import configuration, priced
from tlslab.words import recommendation as english

BROKEN = "TLS_RSA_WITH_AES_128_GCM_SHA256"
FAST = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
SAFE = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
RATE, BYTES = "keep_alive_requests_per_s", "wire_bytes_per_handshake"
MEMORY = "server_memory_bytes"
ENVIRONMENT = made_run(quick=True).environment
RATES = {BROKEN: 1200.0, FAST: 1000.0, SAFE: 800.0}
DAY = date(2026, 11, 26)


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
    decided = decide(whole, aim, weigh(found, whole.security, measures(aim, whole)))
    assert decided is not None
    return priced(decided, found)


def said(found: Recommendation, details: bool = False) -> str:
    _, file, _ = configuration(found, "nginx")
    lines = english.explanation(found.choice, found.field.grounds, file, DAY, details)
    return "\n".join(lines)


def reason(found: Recommendation) -> str:
    return english.reason(found.choice)


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
    words = said(found)
    assert "ECDHE-RSA-AES128-GCM-SHA256 is better; ECDHE-RSA-AES256-GCM-SHA384 has 0.80" in words


def test_security_decides_among_equals() -> None:
    found = recommended(cells({FAST: 1000.0, SAFE: 999.0}))
    assert found.names == (SAFE, FAST)
    assert "is the safest of them" in reason(found)
    assert found.equals == {SAFE, FAST}


def test_another_kind_of_certificate_is_chosen_by_connections() -> None:
    """A request is cheaper with the one suite, a connection with the other one's certificate."""
    ecdsa = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    rates = {FAST: (1000.0, 500.0), ecdsa: (950.0, 900.0), SAFE: (800.0, 495.0)}
    measured = {
        suite: {RATE: around(requests, 0.001), "connections_per_s": around(connections, 0.001)}
        for suite, (requests, connections) in rates.items()
    }
    found = recommended(apart(measured))
    assert (found.trade_offs.measure, found.names) == ("connections_per_s", (ecdsa, FAST, SAFE))
    del measured[ecdsa]
    assert recommended(apart(measured)).trade_offs.measure == RATE


def test_of_equally_safe_ones_none_is_called_the_safest() -> None:
    ecdsa = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    found = recommended(cells({FAST: 1000.0, ecdsa: 999.0}))
    assert field(cells({FAST: 1.0, ecdsa: 1.0})).security == {FAST: 0, ecdsa: 0}
    assert f"; {found.chosen.short} is the likeliest best of the safest of them." in reason(found)


def test_a_run_that_cannot_tell_says_so() -> None:
    found = recommended(cells({FAST: 1000.0, SAFE: 900.0}, noise=0.6))
    assert found.names == (SAFE, FAST)
    assert "This run cannot tell which is best" in reason(found)
    assert "order is that of the policies alone" in reason(found)


def test_nothing_is_recommended_of_what_every_policy_refuses() -> None:
    found = cells({BROKEN: 1.0})
    whole = field(found)
    assert decide(whole, "throughput", weigh(found, whole.security, ())) is None


def test_an_unsupported_cell_is_no_candidate() -> None:
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
    safest = recommended(
        cells({FAST: 1000.0, SAFE: 800.0}) + cells({chacha: 900.0}, verdict="invalid"), "security"
    )
    assert "placed by the policies alone: ECDHE-RSA-CHACHA20-POLY1305" in said(safest)
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
    table = english.pareto_table(found.choice)
    assert table is not None
    assert [row[0] for row in table.rows] == [
        "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-RSA-AES256-GCM-SHA384",
    ]
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert "over 99 %" in str(table.rows[0][2])
    assert english.front(found.choice)


def test_the_head_of_the_file_has_choice_reason_and_objections() -> None:
    found = recommended(cells(RATES))
    _, file, _ = configuration(found, "nginx")
    head = " ".join(english.comments(found.choice, found.field.grounds, file))
    assert head.startswith("tlslab recommend, aim throughput: ECDHE-RSA-AES128-GCM-SHA256, then")
    assert "left out, 1: RFC 10015 (2026-07): section 4: " in head
    assert ": AES128-GCM-SHA256 Also in this file: suites of TLS 1.3 and groups, which this" in head


# Logarithms of one cell over another, by block. Their mean is 0.
AROUND = (-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0)


def apart(values: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Measured]:
    """Cells with the given values by block, for each measure."""
    found = []
    for suite, by_measure in values.items():
        factors = {"tls": "1.2", "suite": suite, "http": "2", "dh_bits": "none"}
        summary = CellSummary(suite, factors, "valid", (), 8, {})
        drawn = {name: dict(enumerate(map(float, v))) for name, v in by_measure.items()}
        found.append(Measured(summary, drawn))
    return found


def around(centre: float, spread: float) -> list[float]:
    return [centre * float(np.exp(spread * each)) for each in AROUND]


def test_a_faster_one_that_policies_object_to_is_no_best_where_equality_is_open() -> None:
    found = recommended(
        apart(
            {
                BROKEN: {RATE: around(1020.0, 0.1), BYTES: [1400.0] * 8},
                FAST: {RATE: [1000.0] * 8, BYTES: [1400.0] * 8},
                SAFE: {RATE: [800.0] * 8, BYTES: [1400.0] * 8},
            }
        )
    )
    (price,) = [each for each in found.prices if each.rival == "fastest"]
    assert (price.established, price.leads) == (False, False)
    assert price.ratio.low is not None
    assert price.ratio.low < 1
    words = said(found)
    assert "best of all" not in words
    assert "price: the highest measured by requests/s on connections kept open is AES128-" in words
    assert re.search(r" times its value: they cannot be told apart, and more than \d+ % is ", words)


def test_the_likeliest_best_is_not_called_better_where_the_interval_holds_1() -> None:
    """The safest suite is the choice; the higher rate of the other one is not established."""
    found = recommended(
        apart(
            {
                FAST: {RATE: around(1015.0, 0.03), BYTES: [1400.0] * 8},
                SAFE: {RATE: [1000.0] * 8, BYTES: [1400.0] * 8},
            }
        )
    )
    assert found.names[0] == SAFE
    (price,) = [each for each in found.prices if each.rival == "fastest_allowed"]
    assert price.comparison.verdict == "equivalent"
    words = said(found)
    assert "is better" not in words
    assert "the likeliest best is ECDHE-RSA-AES128-GCM-SHA256 (probability " in words
    assert "no difference is established, and more than " in words


def test_another_dimension_is_better_only_where_that_is_established() -> None:
    found = {
        centre: recommended(
            apart(
                {
                    FAST: {RATE: [1000.0] * 8, MEMORY: [1000.0] * 8},
                    SAFE: {RATE: [800.0] * 8, MEMORY: around(centre, 0.1)},
                }
            )
        )
        for centre in (918.0, 500.0)
    }
    near, far = ([p for p in each.prices if p.measure == MEMORY] for each in found.values())
    assert [price.established for price in (*near, *far)] == [False, True]
    assert "elsewhere: by the server's memory the likeliest best is" in said(found[918.0])
    assert "elsewhere: by the server's memory ECDHE-RSA-AES256-GCM-SHA384 is better" in (
        said(found[500.0])
    )


def test_a_difference_of_a_void_size_is_said_to_be_one() -> None:
    sizes = {FAST: {RATE: [1000.0] * 8, BYTES: [1018.0] * 8}}
    found = recommended(apart({**sizes, SAFE: {RATE: [800.0] * 8, BYTES: [1000.0] * 8}}))
    words = said(found)
    assert "SHA384 is better, by less than 2 %: that counts as none in the Pareto set" in words
    assert "SHA256 has 1.018 (95 %: 1.018 to 1.018) times its value." in words
    large = recommended(apart({**sizes, SAFE: {RATE: [800.0] * 8, BYTES: [900.0] * 8}}))
    assert "is better; " in said(large)
    assert "counts as none" not in said(large)


def test_several_prices_are_judged_as_one_family() -> None:
    found = recommended(cells(RATES))
    assert len(found.prices) > 1
    assert f"among all {len(found.prices)} ratios together (Holm, 5 %)" in said(found)
    own = [each.comparison.p for each in found.prices if each.comparison.p]
    adjusted = [each.comparison.adjusted_p for each in found.prices if each.comparison.p]
    assert own
    assert all(a is not None and a >= p for p, a in zip(own, adjusted, strict=True))
    assert max(p for p in adjusted if p is not None) > min(own)


def test_four_blocks_make_nothing_better() -> None:
    values = {BROKEN: [1200.0] * 4, FAST: [1000.0] * 4, SAFE: [800.0] * 4}
    found = recommended(apart({suite: {RATE: rates} for suite, rates in values.items()}))
    words = said(found)
    assert "is better" not in words
    assert "best of all" not in words
    assert "fewer than five blocks establish no difference" in words


def test_one_is_the_best_only_where_that_is_established_against_each_of_the_others() -> None:
    """A probability of 95 % goes with an interval of 95 % that contains 1."""
    found = recommended(apart({FAST: {RATE: around(1016.0, 0.02)}, SAFE: {RATE: [1000.0] * 8}}))
    assert found.trade_offs.verdict == "settled"
    assert found.trade_offs.beaten == ()
    assert "is the likeliest best of 2 that no policy objects to" in reason(found)
    assert "; no difference from ECDHE-RSA-AES256-GCM-SHA384 is established" in reason(found)
    clear = recommended(apart({FAST: {RATE: around(1100.0, 0.02)}, SAFE: {RATE: [1000.0] * 8}}))
    assert clear.trade_offs.beaten == (SAFE,)
    assert "is the best of 2 that no policy objects to" in reason(clear)


STATIC_RSA = [s.name for s in SUITES if s.name.startswith("TLS_RSA_WITH_")]
EPHEMERAL_DH = [s.name for s in SUITES if s.name.startswith("TLS_DHE_RSA_")]


def test_suites_left_out_are_grouped_by_their_gravest_objection() -> None:
    assert min(len(STATIC_RSA), len(EPHEMERAL_DH)) > 4
    found = recommended(cells(dict.fromkeys((*STATIC_RSA, *EPHEMERAL_DH, FAST, SAFE), 1000.0)))
    lines = [line for line in said(found).splitlines() if line.startswith("left out")]
    assert len(lines) == 2
    whole = [line for line in said(found, True).splitlines() if line.startswith("left out")]
    assert len(whole) == 2
    for suites, section in ((STATIC_RSA, "section 4"), (EPHEMERAL_DH, "section 3")):
        head = f"left out, {len(suites)}: RFC 10015 (2026-07): {section}: "
        (line,) = [each for each in lines if each.startswith(head)]
        assert line.endswith(f" and {len(suites) - 3} others")
        (every,) = [each for each in whole if each.startswith(head)]
        names = every.rpartition(": ")[2].replace(" and ", ", ").split(", ")
        assert sorted(names) == sorted(each.openssl for each in SUITES if each.name in suites)


def test_many_objections_are_eight_lines_and_a_count() -> None:
    found = cells(dict.fromkeys((FAST, SAFE), 1000.0))
    whole = field(found)
    names = [f"made-up-{number}" for number in range(11)]
    opinion = Opinion(policies()[0], "forbidden", "section")
    entries = [
        Entry(name, name, Graded(name, (replace(opinion, reason=f"section {name}"),)), "valid")
        for name in names
    ]
    many = replace(whole, entries=(*whole.entries, *entries))
    lines = list(english.left_out_lines(many.grounds))
    assert len(lines) == 9
    assert lines[-1] == "left out, 3: for 3 other reasons; --details has all of them"
    assert len(list(english.left_out_lines(many.grounds, every=True))) == 11


def test_micro_is_spelt_in_the_file() -> None:
    costs = {FAST: [100.0] * 8, SAFE: [200.0] * 8}
    cost = "keep_alive_server_cpu_us_per_request"
    found = recommended(apart({name: {cost: each} for name, each in costs.items()}))
    assert ": 100 µs; probability" in reason(found)
    _, _, text = configuration(found, "nginx")
    assert text is not None
    assert " 100 us; probability" in text.replace("\n#  ", "")
