"""The sentences of codes that all kinds of runs have: reasons of verdicts, lacks of data."""

from collections.abc import Sequence

from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import counted
from tlslab.words.numbers import with_interval
from tlslab.words.sentence import Sentences


def _server_cost_disagrees(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        f"a connection of the full client cost the server {with_interval(values['ratio'])} times "
        "one of the lean client: the two should agree within a tenth"
    )


def _few_blocks(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return f"{counted(values['blocks'], 'block')}: dots only, no interval"


def _too_few(values: Values, cells: Sequence[str], summary: Summary) -> str:
    n = counted(values["n"], values["what"])
    return f"{n}: fewer than {values['fewest']} carry no sentence."


def _several_addresses(values: Values, cells: Sequence[str], summary: Summary) -> str:
    listed = ", ".join(f"{a} ({counted(n, 'run')})" for a, n in values["runs"].items())
    return (
        f"The runs went to several addresses of {values['name']}: {listed}. They may be different "
        "servers, or other ways to one: give the address in place of the name."
    )


def _machines(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """The machines of a run in several sittings, and in how many ratios they disagree."""
    kinds, disagree, compared = values["kinds"], values["disagree"], values["compared"]
    of = "one kind" if kinds == 1 else f"{kinds} kinds"
    text = (
        f"The run had {counted(values['sittings'], 'sitting')} on "
        f"{counted(values['machines'], 'machine')} of {of} (one that was started again counts as "
        "another). Each block was made on one of them, and ratios are within blocks."
    )
    if not compared:
        return text
    if not disagree:
        return f"{text} In none of {compared} ratios do the machines disagree (F test, 5 %)."
    return (
        f"{text} In {disagree} of {compared} ratios the machines disagree (F test, 5 %): the "
        "intervals of those are for any such machine, not for these."
    )


SENTENCES: Sentences = {
    "machines": _machines,
    "few_blocks": _few_blocks,
    "several_addresses": _several_addresses,
    "too_few": _too_few,
    "server_cost_disagrees": _server_cost_disagrees,
}
