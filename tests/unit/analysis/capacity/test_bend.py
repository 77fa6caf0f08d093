"""Where response times bend: between a load that is below the factor and one that is above it."""

import pytest

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.capacity_summary import findings, stated
from factories.worded import summarise
from tlslab.analysis.capacity.bend import BEND, Bend, bend_of
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Summary
from tlslab.words.capacity import SENTENCES


def bend(ends: dict[float, tuple[float, float]], over: float | None = None) -> Bend:
    """The bend of times with these intervals, whose value lies in their middle."""
    times = {
        load: Estimate((low * high) ** 0.5, low, high, 3, "ms", "made up")
        for load, (low, high) in ends.items()
    }
    return bend_of("mean", times, over)


@pytest.mark.parametrize(
    ("ends", "over", "before", "onward"),
    [
        ({0.2: (0.99, 1.01), 0.4: (1.1, 1.2), 0.6: (1.9, 2.2), 0.8: (4, 5)}, None, 0.4, 0.6),
        # Around the factor nothing is decided: the range is wider.
        ({0.2: (0.99, 1.01), 0.4: (1.3, 1.8), 0.6: (1.9, 2.2)}, None, 0.2, 0.6),
        ({0.2: (0.99, 1.01), 0.4: (1.1, 1.2), 0.6: (1.1, 3)}, None, 0.4, None),
        ({0.2: (0.99, 1.01), 0.4: (1.1, 1.2)}, None, 0.4, None),
        # A load that is decided counts only if those beyond it are.
        ({0.2: (0.99, 1.01), 0.4: (1.9, 2.2), 0.6: (1.1, 3)}, None, 0.2, None),
        ({0.2: (0.99, 1.01), 0.4: (1.1, 1.2)}, 0.6, 0.4, 0.6),
    ],
)
def test_the_range_ends_where_the_intervals_decide(
    ends: dict[float, tuple[float, float]],
    over: float | None,
    before: float,
    onward: float | None,
) -> None:
    found = bend(ends, over)
    assert (found.before, found.onward) == (before, onward)
    assert (found.ratio is None) == (over is not None)


def test_a_time_without_an_interval_decides_nothing() -> None:
    times = {f: Estimate(f, None, None, 1, "ms", "one run") for f in (0.2, 0.4, 0.8)}
    found = bend_of("mean", times, None)
    assert (found.before, found.onward) == (0.2, None)


@pytest.fixture(name="summary", scope="module")
def _summary() -> Summary:
    return summarise(made_capacity_run({"nginx": CapacityWorld()}, made_plan(repetitions=3)))


def test_three_runs_of_each_load_are_enough(summary: Summary) -> None:
    (values,) = stated(summary, "bend")
    assert values["times"] == BEND
    # The made-up time is 1 / (1 - load): 1.5 times that at a fifth at 47 %.
    assert [(b["before"], b["onward"]) for b in values["bends"]] == [(0.4, 0.6)] * 2
    assert findings(summary, "latency") == []


def test_two_runs_are_not() -> None:
    plan = made_plan(repetitions=2)
    assert stated(summarise(made_capacity_run({"nginx": CapacityWorld()}, plan)), "bend") == []


def test_the_study_and_this_run_stand_side_by_side(summary: Summary) -> None:
    (table,) = (table for table in summary.tables if table.id == "published")
    (row,) = (row for row in table.rows if "above 1.5 times" in str(row[0]))
    assert row[1:3] == ("between 30 % and 45 % of the maximum", "between 40 % and 60 %")


@pytest.mark.parametrize(
    ("before", "onward", "with_ratio", "words"),
    [
        (0.6, 0.8, True, "the p99 between 60 and 80 % (at 80 %: 2.10 times (95 %: 1.80 to 2.40))"),
        (0.8, 1.0, False, "the p99 between 80 and 100 % (at 100 %: the server did not keep up)"),
        (1.0, None, True, "the p99 at no load up to 100 % (there 2.10 times (95 %: 1.80 to 2.40))"),
        (0.4, None, True, "the p99 above 40 %, if at all (at 100 %: 2.10 times"),
    ],
)  # fmt: skip
def test_the_sentence_says_where(
    summary: Summary, before: float, onward: float | None, with_ratio: bool, words: str
) -> None:
    ratio = Estimate(2.1, 1.8, 2.4, 3, "ratio", "made up") if with_ratio else None
    found = vars(Bend("p99", 0.2, 1.0, before, onward, ratio))
    values = {"times": 1.5, "open": False, "bends": [found]}
    said = SENTENCES["bend"](values, (summary.cells[0].key,), summary)
    assert words in said
    assert "more than 1.5 times that at 20 % of the maximum" in said
