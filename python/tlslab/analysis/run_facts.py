"""What a run's folder knows of its machine, server and settings, as named texts. Pure."""

from collections.abc import Iterator, Mapping

from tlslab.analysis.server_side import SOURCE
from tlslab.model.finding import Summary
from tlslab.model.run import Environment
from tlslab.model.wording import counted

# The facts by which machines are of one kind: rates of unlike ones say nothing about a change.
_KIND_OF_MACHINE = ("system", "architecture", "processor", "usable_processors", "virtual")


def environment_facts(where: Environment) -> dict[str, str]:
    """When, where and with what the run was made, by name."""
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


def kind_of_machine(where: Environment) -> tuple[str, ...]:
    """What machines of one kind have in common."""
    return tuple(str(where.machine.get(name)) for name in _KIND_OF_MACHINE)


def machine_words(where: Environment) -> str:
    """The kind of machine, in words."""
    facts = where.machine
    named = [str(facts[name]) for name in ("processor", "architecture") if name in facts]
    usable = facts.get("usable_processors", facts.get("processors"))
    used = [counted(usable, "processor")] if isinstance(usable, int) else []
    system = [str(facts["system"])] if "system" in facts else []
    virtual = ["virtual"] if facts.get("virtual") else []
    return ", ".join([*named, *used, *system, *virtual]) or "an unknown machine"


def run_facts(summary: Summary) -> dict[str, str]:
    """The environment's facts and those of the experiment, by name."""
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
