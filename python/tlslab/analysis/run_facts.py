"""The facts that a run's folder records on machine, server and settings, as named texts. Pure."""

from collections.abc import Iterator, Mapping

from tlslab.analysis.server_side import SOURCE
from tlslab.domain.finding import Summary
from tlslab.domain.run import Environment


def environment_facts(where: Environment) -> dict[str, str]:
    """Time, place and tools of the run, by name."""
    facts: dict[str, object] = {
        "made": where.created,
        "tlslab": where.tlslab,
        "target": where.target.name,
        "software": where.target.software,
        "TLS library": where.target.backend,
        **{f"machine: {name}": value for name, value in where.machine.items()},
        **{f"version: {name}": value for name, value in where.versions.items()},
    }
    return {name: f"{value}" for name, value in facts.items()}


def run_facts(summary: Summary) -> dict[str, str]:
    """The facts of the environment and of the experiment, by name."""
    what = summary.experiment
    facts: dict[str, object] = {
        "server's processor time": summary.server_side.get(SOURCE, "-"),
        "blocks": what.blocks,
        **{f"workload: {name}": value for name, value in _flat(what.workload)},
        **{f"levels: {name}": ", ".join(levels) for name, levels in what.factors.items()},
    }
    return {
        **environment_facts(summary.environment),
        **{name: f"{value}" for name, value in facts.items()},
    }


def _flat(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", list(value) if isinstance(value, tuple) else value
