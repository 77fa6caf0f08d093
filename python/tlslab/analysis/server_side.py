"""Where the server's processor time is from, as facts, and what that adds to its intervals."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from tlslab.model.estimate import Estimate
from tlslab.model.finding import Summary
from tlslab.model.server_side import SOURCE_WORDS, ServerSide
from tlslab.model.trial import Trial, TrialRun
from tlslab.model.wording import counted, figure, percent

# The fact that names the source.
SOURCE = "Server's processor time"

# Estimates that are made of the server's processor time.
_PARTS = ("server_cpu_us_per_", "connections_per_cpu_s", "server_limit_ratio")


def server_side_facts(trials: Sequence[Trial]) -> dict[str, str]:
    """Names and values for the report: of runs against a server that the lab did not start.

    And the energy of this machine's processor packages, of all runs where they show one.
    """
    runs = [run for trial in trials for run in trial.runs.values()]
    sides = [run.side for run in runs if run.side is not None]
    facts = {
        SOURCE: _sources(sides),
        "Its cgroup against its process tree": _cgroup_ratio(sides),
        "Its machine before the load": _idle(sides),
        "Error of one run's reading": _error(runs),
        "Its machine's processors": _processors(sides),
        "Sources that gave nothing": _missing(sides),
        "Energy of processor packages": _energy(runs),
    }
    return {name: text for name, text in facts.items() if text}


def comparable(first: Summary, second: Summary, estimate: str) -> bool:
    """Whether an estimate is the same quantity in two runs.

    The server's cost is not where one is of a whole machine and the other of processes.
    """
    machines = [SOURCE_WORDS["node_exporter"] in s.server_side.get(SOURCE, "")
                for s in (first, second)]  # fmt: skip
    return machines[0] == machines[1] or not _is_of_server(estimate)


def _is_of_server(estimate: str) -> bool:
    return estimate.removeprefix("keep_alive_").startswith(_PARTS)


def widened(estimates: Mapping[str, Estimate], trials: Sequence[Trial]) -> dict[str, Estimate]:
    """The estimates, those of the server's cost wider for the instants of the scrapes.

    The interval over trials has what differs from one run to the next. The instants may move all
    runs to one side, by the mean of their bounds at most: it is added on both sides.
    """
    share = reading_bias(trials)
    if share == 0.0:
        return dict(estimates)
    return {
        name: _wider(found, share) if _is_of_server(name) else found
        for name, found in estimates.items()
    }


def reading_bias(trials: Sequence[Trial]) -> float:
    """The mean over runs of what the instants of reading may add or hide, a share."""
    runs = [run for trial in trials for run in trial.runs.values()]
    known = [found[1] for run in runs if (found := _shares(run)) is not None]
    return sum(known) / len(known) if known else 0.0


def _shares(run: TrialRun) -> tuple[float, float] | None:
    """Error and bias of a run's server time, as shares of it."""
    server = run.server
    if server is None or (whole := server.user_us + server.system_us) <= 0:
        return None
    return server.error_us / whole, server.bias_us / whole


def _wider(found: Estimate, share: float) -> Estimate:
    if found.low is None or found.high is None:
        return found
    method = f"{found.method}; {percent(share)} wider on each side for the instants of reading"
    return replace(
        found, low=found.low * (1 - min(share, 1.0)), high=found.high * (1 + share), method=method
    )


def _sources(sides: Sequence[ServerSide]) -> str:
    counts = Counter(_source(side) for side in sides)
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{words} ({counted(n, 'run')})" for words, n in counts.most_common())


def _source(side: ServerSide) -> str:
    if side.used is None:
        first = ("node_exporter", "process_tree")
        reasons = [side.missing[name] for name in first if name in side.missing]
        return f"not known: {reasons[0] if reasons else 'no source gave any'}"
    words = SOURCE_WORDS[side.used]
    if side.used == "node_exporter":
        return f"{words}, above the idle machine's"
    return f"{words} ({side.program})" if side.program else words


def _cgroup_ratio(sides: Sequence[ServerSide]) -> str:
    ratios = []
    for side in sides:
        tree, cgroup = side.of("process_tree"), side.of("cgroup")
        if tree and cgroup and tree.total_us > 0:
            ratios.append(cgroup.total_us / tree.total_us)
    return _spread(ratios, " times", "run")


def _idle(sides: Sequence[ServerSide]) -> str:
    shares = [side.idle for side in sides if side.idle is not None]
    text = _spread(shares, " processors busy", "run")
    return f"{text}; taken off" if text and any(s.used == "node_exporter" for s in sides) else text


def _spread(values: Sequence[float], unit: str, what: str) -> str:
    if not values:
        return ""
    text = f"{figure(median(values))}{unit}"
    if len(values) == 1:
        return text
    return (
        f"{text} in the median of {counted(len(values), what)} "
        f"({figure(min(values))} to {figure(max(values))})"
    )


def _error(runs: Sequence[TrialRun]) -> str:
    shares = [found[0] for run in runs if (found := _shares(run)) is not None]
    if not any(shares):
        return ""
    return (
        f"{percent(median(shares))} in the median, {percent(max(shares))} at most: the instants of "
        "the scrapes, and counters that tick by 10 ms"
    )


def _processors(sides: Sequence[ServerSide]) -> str:
    """Shares of all processors' time, over all runs."""
    each = [processor for side in sides for processor in side.processors]
    parts = {
        "user": sum(p.user_us for p in each),
        "system": sum(p.system_us for p in each),
        "irq": sum(p.irq_us for p in each),
        "softirq": sum(p.softirq_us for p in each),
        "steal": sum(p.steal_us for p in each),
    }
    whole = sum(parts.values()) + sum(p.idle_us for p in each)
    if whole <= 0:
        return ""
    by = {"node_exporter": "node_exporter", "proc_stat": "/proc/stat"}
    named = ", ".join(dict.fromkeys(by.get(s.processors_by, "?") for s in sides if s.processors))
    words = ", ".join(f"{name} {100 * us / whole:.1f} %" for name, us in parts.items())
    return f"{words} of {counted(len(sides[0].processors), 'processor')} ({named})"


def _missing(sides: Sequence[ServerSide]) -> str:
    counts = Counter(
        f"{name.replace('_', ' ') if name != 'node_exporter' else name}: {why}"
        for side in sides
        for name, why in side.missing.items()
    )
    return "; ".join(
        words if n == len(sides) else f"{words} ({n} of {counted(len(sides), 'run')})"
        for words, n in counts.most_common()
    )


def _energy(runs: Sequence[TrialRun]) -> str:
    """Joules by package and per connection, the generator's share of the package included."""
    joules: dict[str, float] = {}
    for run in runs:
        for package in run.machine.energy:
            joules[package.package] = joules.get(package.package, 0.0) + package.joules
    if not joules:
        reasons = dict.fromkeys(run.machine.no_energy for run in runs if run.machine.no_energy)
        return "; ".join(reasons)
    shown = [run for run in runs if run.machine.energy]
    completed = sum(run.record.outcomes.completed for run in shown)
    words = [
        f"{name}: {figure(total)} J in {counted(len(shown), 'run')}"
        + (f", {figure(1000 * total / completed)} mJ per connection" if completed else "")
        for name, total in joules.items()
    ]
    return "; ".join(words) + "; all programs on this machine together"
