"""The sentences of runs of the kind `matrix`: cells side by side."""

from collections.abc import Mapping, Sequence

from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import (
    CLIENT_COST,
    CONNECTIONS,
    OPEN_CLIENT_COST,
    OPEN_SERVER_COST,
    SERVER_COST,
)
from tlslab.domain.finding import Summary, Values
from tlslab.domain.wording import (
    cell_label,
    counted,
    difference,
    few,
    figure,
    joined,
    level_label,
    percent,
    ratio_figure,
)
from tlslab.words import leading
from tlslab.words.numbers import with_interval
from tlslab.words.places import on_server
from tlslab.words.sentence import Sentences, compared_name, estimated

REQUEST_COSTS = {"the server": OPEN_SERVER_COST, "the client": OPEN_CLIENT_COST}

# The largest number of cells that a list of ties names; longer lists are cut.
_NAMED = 5


def _answer(values: Values, cells: Sequence[str], summary: Summary) -> str:
    if "times" not in values:
        return _by_lower_bounds(values, summary)
    best = values["best"]
    carried = estimated(summary, best, CONNECTIONS)
    text = (
        f"{compared_name(summary, best)} carries {carried} new connections/s "
        f"{on_server(values['where'])}{_times(values, summary, ': ')}."
    )
    text += ties_words(values["ties"], summary)
    if unsaturated := [compared_name(summary, key) for key in values["unsaturated"]]:
        text += (
            " Not ranked by rate, because neither the server nor the generator was the limit: "
            f"{joined(unsaturated)}."
        )
    return text


def _times(values: Values, summary: Summary, before: str) -> str:
    """`: 1.25 (95 %: 1.21 to 1.29) times P-256 and 3.4 times P-521`, or nothing."""
    at_least = "at least " if summary.cell(values["best"]).is_bound(values["estimate"]) else ""
    parts = [
        f"{at_least}{with_interval(each['ratio'])} times {compared_name(summary, each['cell'])}"
        for each in values["times"]
    ]
    return before + " and ".join(parts) if parts else ""


def _by_lower_bounds(values: Values, summary: Summary) -> str:
    best = values["best"]
    rate = figure(summary.cell(best).estimates[CONNECTIONS].value)
    return (
        f"{compared_name(summary, best)} carries at least {rate} new connections/s "
        f"{on_server(values['where'])}. The generator was the limit: rates are lower bounds and "
        "are not ranked; costs are."
    )


def _cheapest(values: Values, cells: Sequence[str], summary: Summary) -> str:
    best = values["best"]
    return (
        f"{cell_label(values['setting'])}: {compared_name(summary, best)} costs the server least, "
        f"{estimated(summary, best, SERVER_COST)} microseconds of processor time for "
        f"a new connection.{ties_words(values['ties'], summary)}"
    )


def _cost_split(values: Values, cells: Sequence[str], summary: Summary) -> str:
    cell, ratio = values["cell"], values["ratio"]
    times = "" if ratio is None else f", {with_interval(ratio)} times as much"
    return (
        f"{cell_label(values['setting'])}: a new connection {_with(summary, cell)} costs the "
        f"server {estimated(summary, cell, SERVER_COST)} microseconds of processor "
        "time and a client that verifies everything "
        f"{estimated(summary, cell, CLIENT_COST)}{times}."
    )


def _kernel_share(values: Values, cells: Sequence[str], summary: Summary) -> str:
    first, last = _with(summary, values["cheapest"]), _with(summary, values["dearest"])
    shares = [with_interval(each, form=percent) for each in values["shares"]]
    return (
        f"{cell_label(values['setting'])}: in the kernel a connection {last} costs the server "
        f"{with_interval(values['system'])} times what one {first} costs, in user space "
        f"{with_interval(values['user'])} times. The kernel's share is {shares[0]} {first} and "
        f"{shares[1]} {last}."
    )


def _kept_open(values: Values, cells: Sequence[str], summary: Summary) -> str:
    best = values["best"]
    rate = estimated(summary, best, values["estimate"])
    costs = [
        f"{whom} {estimated(summary, best, name)}"
        for whom, name in REQUEST_COSTS.items()
        if name in summary.cell(best).estimates
    ]
    return (
        f"{cell_label(values['setting'])}: on connections kept open "
        f"{compared_name(summary, best)} answers {rate} requests/s"
        f"{_times(values, summary, ', ')}.{ties_words(values['ties'], summary)} A request costs "
        f"{' and '.join(costs)} microseconds of processor time."
    )


def _with(summary: Summary, key: str) -> str:
    """A cell's levels in the form that follows a noun: `with X25519`, `(direct, X25519)`."""
    name = compared_name(summary, key)
    return f"({name})" if len(summary.experiment.baseline) > 1 else f"with {name}"


def ties_words(values: Values, summary: Summary) -> str:
    """The differences that are open between the first cell and others; empty for one alone."""
    text = ""
    if near := values["near"]:
        text += f" It shows no difference from {_apart(near, '{} at most', summary)}."
    if apart := values["apart"]:
        among = _apart(apart, "they may differ by up to {}", summary)
        text += f" It cannot be told apart from {among}."
    if untested := _names(values["untested"], summary):
        text += f" It cannot be told apart from {few(untested, _NAMED)} (too few blocks in common)."
    if bounds := _names(values["bounds"], summary):
        named = few(bounds, _NAMED)
        text += f" Lower bounds, because the generator was the limit: {named}."
    return text


def _apart(found: Sequence[Values], words: str, summary: Summary) -> str:
    """The names, each with its difference; of many, the first ones and the largest difference."""
    names = _names([each["cell"] for each in found], summary)
    if len(names) > _NAMED:
        most = max(each["difference"] for each in found)
        return f"{few(names, _NAMED)} ({words.format(difference(most))})"
    ends = [words.format(difference(each["difference"])) for each in found]
    return joined([f"{name} ({end})" for name, end in zip(names, ends, strict=True)])


def _names(keys: Sequence[str], summary: Summary) -> list[str]:
    return [compared_name(summary, key) for key in keys]


def _too_short(values: Values, cells: Sequence[str], summary: Summary) -> str:
    return (
        f"Measurements of {values['seconds']:.1f} s are too short to see whether the rate was "
        "steady in them: take longer ones (measure_ms) before relying on small differences."
    )


def _ended(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """How a run in blocks ended, what it left open, and what it saved."""
    settled = (
        "a difference is established, or one of more than "
        f"{difference(values['until'])} is excluded"
    )
    blocks, planned, open_ = values["blocks"], values["planned_blocks"], values["open"]
    text = f"The run took all of its {counted(planned, 'block')}: "
    if blocks < planned and open_:
        text = f"The run ended early, after {counted(blocks, 'block')}: "
    elif blocks < planned:
        text = f"The run ended after {blocks} of at most {planned} blocks: "
    untested = values["untested"]
    if open_:
        verb = "is" if open_ == 1 else "are"
        text += f"{counted(open_, 'comparison')} {verb} open (settled means: {settled})."
    elif not values["tested"]:
        text += "no two cells can be compared."
    elif untested:
        text += f"the comparisons that can be made are settled ({settled})."
    elif values["answer"] == "best":
        text += f"which cells are best is settled ({settled})."
    else:
        text += f"every comparison is settled ({settled})."
    if untested:
        text += (
            f" {counted(untested, 'comparison')} cannot be made: a cell is invalid, or its rate is "
            "a lower bound."
        )
    return f"{text} It made {values['trials']} of {values['planned_trials']} trials."


def _best_server(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """The best cell of the best server, against the best of each other server."""
    best = values["best"]
    bound = summary.cell(best).is_bound(CONNECTIONS)
    times = [
        f"{_times_of(each['ratio'], bound)} times the best of {_place(summary, each['cell'])}"
        for each in values["times"]
    ]
    text = (
        f"The best of {_place(summary, best)} carries "
        f"{leading.value_words(summary, best, CONNECTIONS)} new connections/s, {joined(times)}"
    )
    if count := values["unranked"]:
        cells_words = counted(count, "cell")
        text += f"; {cells_words} not ranked: a lower bound, or no valid rate of the server"
    return f"{text}."


def _servers(values: Values, cells: Sequence[str], summary: Summary) -> str:
    text = (
        f"{_best_server(values, cells, summary)} The best cells were chosen by the same "
        "measurements: the interval of a ratio does not allow for the choice."
    )
    if not values["settled"]:
        verb = "establishes" if values["pairs"] == 1 else "establish"
        text += (
            f" Where {leading.tests_of_servers(values['pairs'])} {verb} no difference, which is "
            "faster stays open."
        )
    return text


def _times_of(ratio: Estimate, bound: bool) -> str:
    """`1.25 (95 %: 1.21 to 1.29)`; `at least 1.21` if the best cell is a lower bound."""
    if not bound:
        return with_interval(ratio)
    return f"at least {ratio_figure(ratio.value if ratio.low is None else ratio.low)}"


def _place(summary: Summary, key: str) -> str:
    """A cell by its server: `nginx (TLS 1.3, ECDSA P-256, X25519)`."""
    levels = summary.cell(key).factors
    return f"{levels.get('server', '')} ({cell_label(_without(levels, 'server', 'front'))})"


def _offload(values: Values, cells: Sequence[str], summary: Summary) -> str:
    """A front with a group, against the server direct with the same group and the fastest one."""
    cell = summary.cell(cells[0])
    levels = cell.factors
    names = [level_label(n, levels[n]) for n in ("server", "front") if levels.get(n)]
    times = [
        f"{with_interval(ratio)} times as many as direct with {summary.cell(key).factors['group']}"
        for key, ratio in values["ratios"].items()
    ]
    return (
        f"{cell_label(_without(levels, 'server', 'front', 'group'))}: with {levels['group']} "
        f"{' '.join(names)} carries {with_interval(cell.estimates[CONNECTIONS])} new "
        f"connections/s, {' and '.join(times)}."
    )


def _without(levels: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: level for name, level in levels.items() if name not in names}


SENTENCES: Sentences = {
    **leading.SENTENCES,
    "best_server": _best_server,
    "offload": _offload,
    "servers": _servers,
    "answer": _answer,
    "cheapest_for_server": _cheapest,
    "cost_split": _cost_split,
    "ended": _ended,
    "kept_open": _kept_open,
    "kernel_share": _kernel_share,
    "too_short_for_steady_state": _too_short,
}
