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


SENTENCES: Sentences = {
    "few_blocks": _few_blocks,
    "several_addresses": _several_addresses,
    "too_few": _too_few,
    "server_cost_disagrees": _server_cost_disagrees,
}
