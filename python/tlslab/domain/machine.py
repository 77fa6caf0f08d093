"""Kinds of machines: the facts that define a kind, and its name."""

from tlslab.domain.run import Environment
from tlslab.domain.wording import counted

# The facts that define a kind of machine. Rates of different kinds say nothing about a change.
_KIND_OF_MACHINE = ("system", "architecture", "processor", "usable_processors", "virtual")


def kind_of_machine(where: Environment) -> tuple[str, ...]:
    """The facts that machines of one kind share."""
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
