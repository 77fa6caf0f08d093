"""Loads through the cluster with one node at fault: effects on rate, latency and failures.

The rate of a load without a fault changes, too, because Java is still warming up. The loss due to a
fault is therefore relative to the control, the load without a fault of the same policy and block.
Whether faults changed the rate is judged for all of them together (Holm).
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlslab.analysis.benchmark.curves import BENCHMARK_WORDS
from tlslab.analysis.enough import FEWEST
from tlslab.analysis.stats.estimate import estimate, p_value
from tlslab.analysis.stats.families import LEVEL, holm
from tlslab.analysis.stats.share import share
from tlslab.domain.benchmark import (
    CONTROL,
    FAULT_KINDS,
    POLICIES,
    POLICY_WORDS,
    Slice,
    Timeline,
)
from tlslab.domain.estimate import Estimate
from tlslab.domain.figure import DataTable, Figure, Mark, Series
from tlslab.domain.finding import Finding
from tlslab.domain.trial import Trial


@dataclass(frozen=True)
class Episode:
    """All loads with one fault under one policy.

    Shares and rates are means over the slices wholly before the fault, and over those wholly within
    it. `change`: the rate within over the rate before. `over_control`: that change over the
    control's in the same block and the same seconds; None for the control itself, and without a
    control. `p`: the p-value of the difference of `over_control` from 1.
    """

    fault: str
    policy: str
    timelines: tuple[Timeline, ...]
    rate_before: Estimate | None
    rate_during: Estimate | None
    change: Estimate | None
    over_control: Estimate | None
    p: float | None
    p99_before: Estimate | None
    p99_during: Estimate | None
    failed_share: Estimate | None
    kinds: tuple[str, ...]


# The loads of one fault under one policy, by block.
Loads = Mapping[int, Timeline]


def episodes(trials: Sequence[Trial], at_s: float, until_s: float) -> tuple[Episode, ...]:
    """The episodes of all trials that have a timeline, by fault and policy."""
    groups: dict[tuple[str, str], dict[int, Timeline]] = {}
    for trial in trials:
        if trial.timeline is not None:
            place = (trial.timeline.fault, trial.timeline.policy)
            groups.setdefault(place, {})[trial.block] = trial.timeline
    return tuple(
        _episode(loads, groups.get((CONTROL, policy), {}), at_s, until_s)
        for (_, policy), loads in sorted(groups.items(), key=_order)
    )


def _order(item: tuple[tuple[str, str], object]) -> tuple[int, int]:
    (fault, policy), _ = item
    return FAULT_KINDS.index(fault), POLICIES.index(policy)


def _episode(loads: Loads, control: Loads, at_s: float, until_s: float) -> Episode:
    timelines = tuple(loads.values())
    fault = timelines[0].fault
    before = [list(_within(each, 0.0, at_s)) for each in timelines]
    end = float("inf") if fault == "killed" else until_s
    during = [list(_within(each, at_s, end)) for each in timelines]
    kinds = dict.fromkeys(kind for slices in during for each in slices for kind in each.failed)
    changes = _changes(loads, at_s, end)
    expected = {} if fault == CONTROL else _changes(control, at_s, end)
    ratios = [changes[block] / expected[block] for block in changes if expected.get(block)]
    failed = [value for value in map(_failed, during) if value is not None]
    return Episode(
        fault=fault,
        policy=timelines[0].policy,
        timelines=timelines,
        rate_before=_mean([_rate(slices) for slices in before], "1/s"),
        rate_during=_mean([_rate(slices) for slices in during], "1/s"),
        change=_mean(list(changes.values()), ""),
        over_control=_mean(ratios, ""),
        p=_p_value(ratios),
        p99_before=_mean([_tail(slices) for slices in before], "ms"),
        p99_during=_mean([_tail(slices) for slices in during], "ms"),
        failed_share=share(failed) if failed else None,
        kinds=tuple(kinds),
    )


def _changes(loads: Loads, at_s: float, end_s: float) -> dict[int, float]:
    """Each block's rate from `at_s` to `end_s` over its rate before."""
    found = {}
    for block, timeline in loads.items():
        before = _rate(list(_within(timeline, 0.0, at_s)))
        during = _rate(list(_within(timeline, at_s, end_s)))
        if before and during is not None:
            found[block] = during / before
    return found


def _within(timeline: Timeline, start: float, end: float) -> Iterator[Slice]:
    for each in timeline.slices:
        if each.at_s - each.seconds >= start - 0.05 and each.at_s <= end + 0.05:
            yield each


def _rate(slices: Sequence[Slice]) -> float | None:
    seconds = sum(each.seconds for each in slices)
    return sum(each.completed for each in slices) / seconds if seconds else None


def _tail(slices: Sequence[Slice]) -> float | None:
    """The median over slices of their 99th percentiles."""
    values = [each.p99_ms for each in slices if each.p99_ms is not None]
    return statistics.median(values) if values else None


def _failed(slices: Sequence[Slice]) -> float | None:
    failed = sum(sum(each.failed.values()) for each in slices)
    ended = failed + sum(each.completed for each in slices)
    return failed / ended if ended else None


def _mean(values: Sequence[float | None], unit: str) -> Estimate | None:
    known = [value for value in values if value is not None]
    return estimate(known, unit) if known else None


def _p_value(ratios: Sequence[float]) -> float | None:
    """The p-value of the mean's difference from 1; on logarithms if all ratios are positive."""
    if not ratios:
        return None
    data = np.asarray(ratios, dtype=np.float64)
    return p_value(np.log(data) if (data > 0).all() else data - 1)


def fault_figures(found: Sequence[Episode]) -> tuple[Figure, ...]:
    """For each fault and policy: throughput, failures and p99 over time, of the first load."""
    return tuple(_figure(episode) for episode in found)


def _figure(episode: Episode) -> Figure:
    timeline = episode.timelines[0]
    at = tuple(each.at_s for each in timeline.slices)
    rates = tuple(each.completed / each.seconds for each in timeline.slices)
    failures = tuple(sum(each.failed.values()) / each.seconds for each in timeline.slices)
    p99 = tuple(each.p99_ms for each in timeline.slices)
    return Figure(
        id=f"fault-{episode.fault}-{episode.policy}",
        title=f"{_what(episode)}: {POLICY_WORDS[episode.policy]}",
        caption=f"{BENCHMARK_WORDS[timeline.benchmark]} by {timeline.threads} threads through the "
        "cluster, second by second"
        + "".join(f"; at {event.at_s:.1f} s {event.what}" for event in timeline.events)
        + ".",
        kind="line",
        x_title="seconds",
        y_title="per second",
        y2_title="milliseconds",
        series=(
            Series("completed", at, rates),
            Series("failed", at, failures),
            Series("p99", at, p99, axis=2, dashed=True),
        ),
        marks=tuple(Mark(event.at_s, event.what) for event in timeline.events),
    )


def _what(episode: Episode) -> str:
    if episode.fault == CONTROL:
        return "No fault (control)"
    return f"One of two signing nodes {episode.fault}"


def fault_table(found: Sequence[Episode]) -> DataTable | None:
    """The effects of each fault under each policy; None without any."""
    if not found:
        return None
    return DataTable(
        id="faults",
        title="A signing node at fault",
        caption="Means over the seconds before the fault and those within it; p99 is the median of "
        "the seconds' 99th percentiles. The control has no fault, and its rate changes, too: 'over "
        "the control' is the change of the rate over the control's in the same seconds, paired by "
        "block; each interval holds by itself. The time-out is 1000 ms.",
        columns=(
            "fault", "client's policy", "per s before", "per s within", "within over before",
            "over the control", "p99 ms before", "p99 ms within", "failed", "what failed",
        ),
        rows=tuple(
            (
                "none (control)" if each.fault == CONTROL else each.fault,
                POLICY_WORDS[each.policy], each.rate_before, each.rate_during, each.change,
                each.over_control, each.p99_before, each.p99_during, each.failed_share,
                ", ".join(each.kinds),
            )
            for each in found
        ),
    )  # fmt: skip


def fault_findings(found: Sequence[Episode]) -> Iterator[Finding]:
    """One finding for the control and for each fault; none with fewer than FEWEST loads."""
    said = [each for each in found if each.change is not None and each.change.n >= FEWEST]
    tested = [each.p for each in said if each.p is not None]
    adjusted = iter(holm(tested))
    for each in said:
        p = None if each.p is None else next(adjusted)
        values = {
            "fault": each.fault,
            "policy": each.policy,
            "change": each.change,
            "over_control": each.over_control,
            "changed": p is not None and p <= LEVEL and _is_apart(each.over_control),
            "family": len(tested),
            "failed": each.failed_share,
        }
        yield Finding(f"fault_{each.fault}_{each.policy}", values=values)


def _is_apart(ratio: Estimate | None) -> bool:
    """Whether the interval of a ratio does not contain 1."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return False
    return not ratio.low <= 1 <= ratio.high
