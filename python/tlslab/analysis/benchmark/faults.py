"""Loads through the cluster with one node at fault: what became of rate, latency and failures."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.benchmark.curves import BENCHMARK_WORDS
from tlslab.analysis.stats.estimate import estimate
from tlslab.model.benchmark import Slice, Timeline
from tlslab.model.estimate import Estimate
from tlslab.model.figure import DataTable, Figure, Mark, Series
from tlslab.model.finding import Finding
from tlslab.model.record import Trial

POLICY_WORDS: Mapping[str, str] = {
    "none": "each node in its turn",
    "eject": "a failed node left out for 5 s, one more try",
}


@dataclass(frozen=True)
class Episode:
    """All loads with one fault under one policy.

    Shares and rates are means over the slices wholly before the fault, and wholly within it.
    """

    fault: str
    policy: str
    timelines: tuple[Timeline, ...]
    rate_before: Estimate | None
    rate_during: Estimate | None
    p99_before: Estimate | None
    p99_during: Estimate | None
    failed_share: Estimate | None
    kinds: tuple[str, ...]


def episodes(trials: Sequence[Trial], at_s: float, until_s: float) -> tuple[Episode, ...]:
    """The episodes of all trials that have a timeline, by fault and policy."""
    groups: dict[tuple[str, str], list[Timeline]] = {}
    for trial in trials:
        if trial.timeline is not None:
            place = (trial.timeline.fault, trial.timeline.policy)
            groups.setdefault(place, []).append(trial.timeline)
    return tuple(
        _episode(fault, policy, tuple(members), at_s, until_s)
        for (fault, policy), members in sorted(groups.items(), key=_order)
    )


def _order(item: tuple[tuple[str, str], object]) -> tuple[int, int]:
    (fault, policy), _ = item
    return ("none", "slow", "frozen", "killed").index(fault), ("none", "eject").index(policy)


def _episode(
    fault: str, policy: str, timelines: tuple[Timeline, ...], at_s: float, until_s: float
) -> Episode:
    before = [list(_within(each, 0.0, at_s)) for each in timelines]
    end = float("inf") if fault == "killed" else until_s
    during = [list(_within(each, at_s, end)) for each in timelines]
    kinds = dict.fromkeys(kind for slices in during for each in slices for kind in each.failed)
    return Episode(
        fault=fault,
        policy=policy,
        timelines=timelines,
        rate_before=_mean([_rate(slices) for slices in before], "1/s"),
        rate_during=_mean([_rate(slices) for slices in during], "1/s"),
        p99_before=_mean([_tail(slices) for slices in before], "ms"),
        p99_during=_mean([_tail(slices) for slices in during], "ms"),
        failed_share=_mean([_failed(slices) for slices in during], ""),
        kinds=tuple(kinds),
    )


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


def fault_figures(found: Sequence[Episode]) -> tuple[Figure, ...]:
    """For each fault and policy: throughput, failures and p99 over time, of the first load."""
    return tuple(_figure(episode) for episode in found if episode.fault != "none")


def _figure(episode: Episode) -> Figure:
    timeline = episode.timelines[0]
    at = tuple(each.at_s for each in timeline.slices)
    rates = tuple(each.completed / each.seconds for each in timeline.slices)
    failures = tuple(sum(each.failed.values()) / each.seconds for each in timeline.slices)
    p99 = tuple(each.p99_ms for each in timeline.slices)
    return Figure(
        id=f"fault-{episode.fault}-{episode.policy}",
        title=f"One of two signing nodes {episode.fault}: {POLICY_WORDS[episode.policy]}",
        caption=f"{BENCHMARK_WORDS[timeline.benchmark]} by {timeline.threads} threads through the "
        "cluster, second by second; "
        + "; ".join(f"at {event.at_s:.1f} s {event.what}" for event in timeline.events)
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


def fault_table(found: Sequence[Episode]) -> DataTable | None:
    """What each fault did under each policy; None without any."""
    if not found:
        return None
    return DataTable(
        id="faults",
        title="A signing node at fault",
        caption="Means over the seconds before the fault and those within it; p99 is the median of "
        "the seconds' 99th percentiles. The time-out is 1000 ms.",
        columns=(
            "fault", "client's policy", "per s before", "per s within", "p99 ms before",
            "p99 ms within", "failed", "what failed",
        ),
        rows=tuple(
            (
                each.fault, POLICY_WORDS[each.policy], each.rate_before, each.rate_during,
                each.p99_before, each.p99_during, each.failed_share, ", ".join(each.kinds),
            )
            for each in found
        ),
    )  # fmt: skip


def fault_findings(found: Sequence[Episode]) -> Iterator[Finding]:
    """What each fault did, in a sentence."""
    for each in found:
        if each.fault == "none" or each.rate_before is None or each.rate_during is None:
            continue
        share = each.rate_during.value / each.rate_before.value
        failed = each.failed_share.value if each.failed_share else 0.0
        yield Finding(
            f"fault_{each.fault}_{each.policy}",
            f"With one of two signing nodes {each.fault} ({POLICY_WORDS[each.policy]}), "
            f"{share:.0%} of the throughput was left and {failed:.1%} of the operations failed.",
        )
