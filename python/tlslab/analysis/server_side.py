"""The source of the server's processor time, as facts, and its effect on intervals."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import quantity
from tlslab.domain.finding import Summary
from tlslab.domain.trial import SOURCE_WORDS, RunKind, ServerSide, Trial, TrialRun
from tlslab.domain.wording import counted, figure, percent

# The fact that names the source.
SOURCE = "Server's processor time"

# The purpose of each kind of run, for trials with several runs.
_KINDS: Mapping[RunKind, str] = {
    "capacity": "new connections",
    "client_cost": "new connections of a full client",
    "keep_alive": "requests on connections kept open",
}


def server_side_facts(trials: Sequence[Trial]) -> dict[str, str]:
    """Names and values for the report, for runs against a server that the lab did not start.

    For all runs, the energy of this machine's processor packages is added if it is known.
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
        "Energy of processor packages": _energy(trials),
    }
    return {name: text for name, text in facts.items() if text}


def comparable(first: Summary, second: Summary, estimate: str) -> bool:
    """Whether an estimate is the same quantity in two runs.

    The server's cost is not, if one run measured a whole machine and the other processes.
    """
    machines = [SOURCE_WORDS["node_exporter"] in s.server_side.get(SOURCE, "")
                for s in (first, second)]  # fmt: skip
    return machines[0] == machines[1] or not quantity(estimate).of_server


def widened(estimates: Mapping[str, Estimate], trials: Sequence[Trial]) -> dict[str, Estimate]:
    """The estimates; those with the server's cost are widened for the instants of the scrapes.

    The interval over trials covers what differs from run to run. The instants may shift all runs to
    one side, by at most the mean of their bounds; this is added on both sides.
    """
    share = reading_bias(trials)
    if share == 0.0:
        return dict(estimates)
    return {
        name: _wider(found, share) if quantity(name).of_server else found
        for name, found in estimates.items()
    }


def reading_bias(trials: Sequence[Trial]) -> float:
    """The mean over runs of the possible error from the instants of reading, as a share."""
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
    most = max(len(side.processors) for side in sides)
    return f"{words} of {counted(most, 'processor')} ({named})"


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


def _energy(trials: Sequence[Trial]) -> str:
    """Joules by kind of run and package, and per connection; the generator's share is included.

    A connection of a full client takes more energy than a connection of the load, and requests on
    connections kept open make no connection: each kind has its own joules.
    """
    runs = [(kind, run) for trial in trials for kind, run in trial.runs.items()]
    by_kind: dict[RunKind, list[TrialRun]] = {}
    for kind, run in runs:
        if run.machine.energy:
            by_kind.setdefault(kind, []).append(run)
    if not by_kind:
        reasons = dict.fromkeys(run.machine.no_energy for _, run in runs if run.machine.no_energy)
        return "; ".join(reasons)
    words = []
    for kind, shown in by_kind.items():
        label = f"{_KINDS.get(kind, kind.replace('_', ' '))}, " if len(by_kind) > 1 else ""
        words += [f"{label}{text}" for text in _joules(shown, kind != "keep_alive")]
    return "; ".join(words) + "; all programs on this machine together"


def _joules(runs: Sequence[TrialRun], per_connection: bool) -> Iterator[str]:
    """The joules of each package; per connection, from the runs that completed any."""
    names = dict.fromkeys(package.package for run in runs for package in run.machine.energy)
    for name in names:
        used = [
            (package.joules, run.record.outcomes.completed)
            for run in runs
            for package in run.machine.energy
            if package.package == name
        ]
        text = f"{name}: {figure(sum(joules for joules, _ in used))} J in "
        text += counted(len(used), "run")
        made = [(joules, completed) for joules, completed in used if completed]
        if made and per_connection:
            each = sum(joules for joules, _ in made) / sum(completed for _, completed in made)
            text += f", {figure(1000 * each)} mJ per connection"
        yield text
