"""The answer of a comparison: runs are alike only if the other ratios are known to be alike."""

import math

from factories.worded import answered as in_words
from tlslab.analysis.compare import may_differ
from tlslab.analysis.overlay.differences import Labelled, answer
from tlslab.domain.finding import Answer, Comparison, ComparisonVerdict

RATE = "connections_per_s"
P99 = "handshake_ms_p99"
RESPONSE = "response_ms_p99_at_40"
RUN = ("tlslab", "run", "x", "--blocks", "3")


def found(
    estimate: str, low: float | None, high: float | None, verdict: ComparisonVerdict = "cannot_tell"
) -> Labelled:
    ratio = 1.0 if low is None or high is None else math.sqrt(low * high)
    left = may_differ(low, high)
    return "X25519", Comparison(
        "a", "a", estimate, ratio, low, high, 10, "", verdict, may_differ=left
    )


NEAR = [found(RATE, 0.97, 1.03)] * 3
OPEN = [found(P99, 0.36, 2.8)] * 4
SLOWER = [found(RESPONSE, 1.2, 1.4, "slower")]
NAMED = "response time p99 at 40 % of the maximum: 1.30 times (95 %: 1.20 to 1.40)"


def answered(*groups: list[Labelled], missing: int = 0, until: bool = True) -> Answer:
    together = [each for group in groups for each in group]
    return in_words(answer(("A", "B"), together, "", RUN, missing, until), "comparison")


def test_beside_what_differs_the_rest_is_bounded() -> None:
    assert answered(SLOWER, NEAR).sentences == (
        f"1 of 4 ratios differs: {NAMED}.",
        "No difference is established in 3 other ratios (by 4 % at most).",
    )


def test_open_ratios_are_not_counted_as_equal() -> None:
    assert answered(SLOWER, NEAR, OPEN).sentences == (
        f"1 of 8 ratios differs: {NAMED}.",
        "No difference is established in 3 other ratios (by 4 % at most); of 4 other ratios "
        "nothing is known: they may differ by up to 2.8 times.",
    )
    first, second = answered(SLOWER, NEAR, [found(P99, None, None)]).sentences
    assert first == f"1 of 5 ratios differs: {NAMED}."
    assert second.endswith("; of 1 other ratio nothing is known.")


def test_ratios_that_cannot_be_judged_are_not_counted_as_equal() -> None:
    bound = [found(RATE, 0.9, 1.1, "not_comparable")]
    first, second = answered(SLOWER, NEAR, bound, missing=1).sentences
    assert first == f"1 of 4 ratios differs: {NAMED}."
    assert "; 2 ratios cannot be judged: " in second
    first, second = answered(SLOWER, missing=1).sentences
    assert first == f"Every ratio that can be judged differs: {NAMED}."
    assert second.startswith("1 ratio cannot be judged: ")


def test_times_that_are_open_are_named_where_the_rates_are_known() -> None:
    assert answered(NEAR, OPEN).sentences == (
        "No difference is established in 3 of 7 ratios: B is within 4 % of A.",
        "Of 4 other ratios nothing is known: they may differ by up to 2.8 times.",
    )


def test_a_rate_that_is_open_is_not_enough_to_say() -> None:
    wide = answered(NEAR, [found(RATE, 0.5, 2.0)]).lacking
    assert wide is not None
    assert wide.why == (
        "No difference is established, but the intervals are wide; they may differ by up to "
        "2 times."
    )
    assert wide.command[-2:] == ("--until", "5%")
    bare = answered(NEAR, [found(RATE, None, None)], until=False).lacking
    assert bare is not None
    assert bare.why == "No difference is established, but the intervals are wide."
    assert bare.command[-2:] == ("--blocks", "20")


def test_the_rates_have_a_bound_of_their_own() -> None:
    (sentence,) = answered(NEAR, [found(P99, 0.9, 1.1)]).sentences
    assert sentence.endswith(": B is within 12 % of A, by its rates within 4 %.")


def test_bytes_that_differ_by_next_to_nothing_are_alike() -> None:
    signature = [found("wire_bytes_per_handshake", 1.0008, 1.0012, "equivalent")]
    (sentence,) = answered(NEAR, signature).sentences
    assert sentence == "No difference is established: B is within 4 % of A."
    first, _ = answered(NEAR, [found("wire_bytes_per_handshake", 1.05, 1.06, "more")]).sentences
    assert first.startswith("1 of 4 ratios differs: bytes of a handshake on the wire: 1.05")


def test_differences_of_one_size_are_named_in_the_order_of_the_table() -> None:
    alike = [
        found(RATE, 0.75, 0.79, "slower"),
        found("server_cpu_us_per_connection", 1.25, 1.31, "slower"),
        found("handshake_ms_p50", 1.29, 1.33, "slower"),
    ]
    first, _ = answered(alike, NEAR, NEAR).sentences
    assert first.startswith("3 of 9 ratios differ: new connections/s: ")
    assert "; the server's processor time for a new connection: " in first
    assert first.endswith("; and 1 more ratio.")
