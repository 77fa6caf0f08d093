"""The sentences of runs of the kind `capacity`."""

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from tlslab.domain.capacity import CONFIRMING
from tlslab.domain.cell_names import cell_names
from tlslab.domain.estimates import CONNECTIONS
from tlslab.domain.finding import Summary, Values
from tlslab.domain.open_maxima import open_label
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import (
    capital,
    counted,
    difference,
    every,
    figure,
    joined,
    percent,
    ratio_figure,
)
from tlslab.words import reasons, validity
from tlslab.words.numbers import with_interval, with_unit
from tlslab.words.sentence import Sentences

# The largest number of characters of a reason in a sentence.
_REASON = 80

Cells = Sequence[str]


def _names(summary: Summary, keys: Cells | None = None) -> list[str]:
    """The names of cells in the report; without keys of all."""
    names = cell_names([cell.factors for cell in summary.cells])
    by_key = dict(zip([cell.key for cell in summary.cells], names, strict=True))
    return [by_key[key] for key in keys or by_key]


def _name(summary: Summary, key: str) -> str:
    return _names(summary, [key])[0]


def _without_processors(summary: Summary, key: str) -> str:
    """The name of a cell apart from its processors, at the start of a sentence."""
    cells = [
        {name: level for name, level in cell.factors.items() if name != "processors"}
        for cell in summary.cells
    ]
    keys = [cell.key for cell in summary.cells]
    name = cell_names(cells)[keys.index(key)]
    return capital(name) if name == "the server" else name


def _maximum(summary: Summary, key: str, bound: bool) -> str:
    return with_unit(summary.cell(key).estimates[CONNECTIONS], bound)


def _maxima(values: Values, cells: Cells, summary: Summary) -> str:
    parts = []
    for number, (key, name) in enumerate(zip(cells, _names(summary, cells), strict=True)):
        most = _maximum(summary, key, values["bounds"][number])
        part = f"{name}: {most}, with {values['connections'][number]} at once"
        label = open_label(values["open"][number])
        parts.append(f"{part} ({label})" if label else part)
    return f"New connections/s at most: {'; '.join(parts)}."


def _open(values: Values, cells: Cells, summary: Summary) -> str:
    listed = [
        f"{name} ({summary.cell(key).left_open[CONNECTIONS]})"
        for key, name in zip(cells, _names(summary, cells), strict=True)
    ]
    return f"Maxima that are not known exactly, and why: {'; '.join(listed)}."


def _generators(values: Values, cells: Cells, summary: Summary) -> str:
    used = counted(values["generators"], "generator")
    client, server = percent(values["generator"]), percent(values["server"] or 0.0)
    limit = {
        "both": "they and the server were busy: the server may take more",
        "generator": "they were the limit: the server takes more",
        "server_or_way": f"they were {client} busy: the server, or the way to it, was the limit",
        "server": f"the server was the limit, {server} busy or more",
        "neither": f"neither they ({client} busy) nor the server ({server}) was the limit: the "
        "cause lies elsewhere",
    }[values["side"]]
    return f"{_name(summary, cells[0])}: {used} made the load of the maximum; {limit}."


def _times(values: Values) -> str:
    """`at least 1.25 (95 %: 1.21 to 1.29)`; empty if nothing is known of the ratio."""
    if values["bound"] == "unknown" or not values["steady"]:
        return ""
    sign = f"{values['bound']} " if values["bound"] else ""
    return f"{sign}{with_interval(values['ratio'])}"


def _reservations(values: Values) -> str:
    """The restriction of a ratio, and whether it establishes a difference, among how many."""
    chosen = ""
    if values["at_chosen"]:
        chosen = ", at the connections at once that the searches chose (inconclusive: noise)"
    if values["family"] > 1:
        which = "a difference" if values["established"] else "no difference"
        among = f"; among {every(values['family'])} ratios here (Holm) {which} is established"
        return f"{chosen}{among}"
    return chosen if values["established"] else f"{chosen}; no difference is established"


def _scaling(values: Values, cells: Cells, summary: Summary) -> str:
    fewer, more = (summary.cell(key).factors for key in cells)
    n, m = fewer["processors"], more["processors"]
    server = _without_processors(summary, cells[1])
    if times := _times(values):
        text = f"{server} takes {times} times the connections/s with {m} processors that it takes "
        text += f"with {n}{_reservations(values)}."
    else:
        why = "it may take more than was measured with either"
        text = f"{server}: how much more it takes with {m} processors than with {n} is not known: "
        text += f"{why if values['steady'] else 'a rate was not steady'}."
    if values["shared"]:
        text += " The generator shared one of these processors: the server alone would take more."
    return text


def _ratio(name: str, first: str, where: str, values: Values) -> str:
    """One cell's maximum over another's, and the costs of a connection; `where` holds for both."""
    cost = values["cost"]
    costs = f" A connection costs {with_interval(cost)} times the processor time." if cost else ""
    if times := _times(values):
        words = f"{times} times the connections/s of {first}{where}{_reservations(values)}"
        return f"{name} takes {words}.{costs}"
    why = "both may take more than was measured" if values["steady"] else "a rate was not steady"
    return (
        f"Whether {name} takes more connections/s than {first}{where} is not known: {why}.{costs}"
    )


def _platforms(values: Values, cells: Cells, summary: Summary) -> str:
    first, other = (summary.cell(key).factors for key in cells)
    levels = other.get("processors")
    where = f" on {levels} processor{'' if levels == '1' else 's'}" if levels else ""
    name, first_name = cell_names([other, first])
    return _ratio(name, first_name, where, values)


def _variants(values: Values, cells: Cells, summary: Summary) -> str:
    first, other = _names(summary, cells)
    return _ratio(other, first, "", values)


def _latency(values: Values, cells: Cells, summary: Summary) -> str:
    (low, high), (first, last) = values["loads"], values["means"]
    of = "the highest rate that was measured" if values["open"] else "the maximum"
    longer = {
        True: ": it is longer there",
        False: ": whether it is longer, these runs cannot tell",
        None: "",
    }[values["longer"]]
    means = [f"{with_interval(mean, absent='trials')} ms" for mean in (first, last)]
    text = (
        f"{_name(summary, cells[0])}: the mean response time is {means[0]} at {percent(low)} of "
        f"{of} and {means[1]} at {percent(high)}{longer}."
    )
    if values["overloaded"]:
        where = joined([percent(each) for each in values["overloaded"]])
        text += f" At {where} the server did not keep up in at least one run."
    return text


def _patience(values: Values, cells: Cells, summary: Summary) -> str:
    of = "the highest rate that was measured" if values["open"] else "the maximum"
    tries = counted(values["retries"] + 1, "attempt")
    parts, nobody = [], []
    for load, share in zip(values["loads"], values["shares"], strict=True):
        if share.value == 0:
            nobody.append(percent(load))
            continue
        least = "at least " if values["bound"] else ""
        parts.append(f"at {percent(load)}, {least}{with_interval(share, absent='trials')}")
    if nobody:
        parts.append(f"at {joined(nobody)}, nobody")
    return (
        f"{_name(summary, cells[0])}: users who had no answer within {values['patience_s']:g} s "
        f"gave up for good after {tries}; of {of}: {'; '.join(parts)}."
    )


def _growth(values: Values, cells: Cells, summary: Summary) -> str:
    fewer, more = (summary.cell(key).factors for key in cells)
    n, m = fewer["processors"], more["processors"]
    server = _without_processors(summary, cells[1])
    linear = f"linear within {percent(values['within'])}"
    verdict = {
        True: f"growth up to {m} processors is {linear}, as far as processor time limits it",
        False: f"growth up to {m} processors is not {linear}",
        None: f"whether growth up to {m} processors is {linear}, these runs cannot tell",
    }[values["linear"]]
    loads = joined([percent(load) for load in values["loads"]])
    text = (
        f"{server}: with {m} processors, a connection costs {with_interval(values['ratio'])} times "
        f"the server's processor time of one with {n}, at {loads} of each maximum: {verdict}."
    )
    if values["shared"]:
        text += " The generator shared one of these processors: its work may raise the cost."
    return text


def _bend(values: Values, cells: Cells, summary: Summary) -> str:
    of = "the highest rate that was measured" if values["open"] else "the maximum"
    parts = [_bend_of(each) for each in values["bends"]]
    return (
        f"{_name(summary, cells[0])}: the response time begins to bend, to more than "
        f"{values['times']:g} times that at {percent(values['bends'][0]['lowest'])} of {of}: "
        f"{'; '.join(parts)}."
    )


def _bend_of(bend: Values) -> str:
    """`the p99 between 60 and 80 % (at 80 %: 2.10 times (95 %: 1.80 to 2.40))`."""
    before, onward, ratio = percent(bend["before"]), bend["onward"], bend["ratio"]
    highest = percent(bend["highest"])
    times = "the server did not keep up"
    if ratio is not None:
        times = with_interval(ratio, unit="times")
    if onward is not None:
        between = f"between {before.removesuffix(' %')} and {percent(onward)}"
        return f"the {bend['of']} {between} (at {percent(onward)}: {times})"
    if before == highest:
        return f"the {bend['of']} at no load up to {highest} (there {times})"
    return f"the {bend['of']} above {before}, if at all (at {highest}: {times})"


def capacity_words(found: Any) -> str:
    """`up to 3,200/s, confirmed by 2 runs at 3,360/s; not at 3,528/s`."""
    load = figure(found.load.value)
    if found.bound == "below":
        return f"at no load that could be judged, from {load}/s on"
    if found.above is None:
        known = "not confirmed by a load 5 % above"
    else:
        runs = f"by {counted(found.above.runs, 'run')} at {figure(found.above.offered)}/s"
        is_confirmed = found.above.runs >= CONFIRMING
        known = f"confirmed {runs}" if is_confirmed else f"not confirmed: {runs} only"
    if found.missed is not None:
        return f"up to {load}/s, {known}; not at {figure(found.missed.offered)}/s"
    if found.late is not None:
        late = figure(found.late.offered)
        return f"up to {load}/s, {known}; loads from {late}/s on could not be judged"
    return f"up to {load}/s, {known}; no load missed it"


def _objective(values: Values, cells: Cells, summary: Summary) -> str:
    name, objective = _name(summary, cells[0]), values["objective"]
    if values["capacity"] is None:
        return (
            f"{name}: whether it meets {objective} is not known: each run was too short, or had "
            "too few connections, or the generator was late at that load or a lower one; measure "
            "for longer."
        )
    share = ""
    if values["share"] is not None:
        most = "at most " if values["open"] else ""
        share = f", {most}{with_interval(values['share'], absent='')} of the maximum"
    return f"{name} meets {objective} {capacity_words(values['capacity'])}{share}."


def _remedies(values: Values, cells: Cells, summary: Summary) -> str:
    among = f" among {every(values['family'])} remedies" if values["family"] > 1 else ""
    parts = []
    for each in values["remedies"]:
        if each["bound"] == "unknown":
            limit = "not known, the generator was the limit with and without"
            parts.append(f"{each['name']}: {limit}{_plain(each)}")
            continue
        bound = f"{each['bound']} " if each["bound"] else ""
        ratio = with_interval(each["ratio"], absent="")
        verdict = "" if each["established"] else f", no difference is established{among}"
        parts.append(f"{each['name']} {bound}{ratio} times {each['base']}{verdict}{_plain(each)}")
    return f"{_name(summary, cells[0])}, requests/s with a remedy: {'; '.join(parts)}."


def _plain(remedy: Values) -> str:
    """The ratio of resumption to a server that gives no tickets, if it is known."""
    if remedy["plain"] is None:
        return ""
    bound = f"{remedy['of_plain']} " if remedy["of_plain"] else ""
    return f", {bound}{with_interval(remedy['plain'], absent='')} times a server without tickets"


def _validation(values: Values, cells: Cells, summary: Summary) -> str:
    if "reason" in values:
        return f"The times were not validated against a packet capture: {values['reason']}"
    delays = [f"{delay:g} ms" for delay in values["delays_ms"]]
    path = f", on a path of {joined(delays)} there and back" if delays else ""
    differing = [
        f"{each['phase'].replace('_', ' ')} {'p50' if each['quantile'] == 0.5 else 'p99'} at "
        f"{figure(each['rate'])}/s, {ratio_figure(each['ratio'])} times the capture's"
        for each in values["differing"]
    ]
    which = f" ({'; '.join(differing)})" if differing else ""
    return (
        f"Beside a packet capture of the same connections{path}: of the generator's own "
        f"quantiles, {values['results']}{which}."
    )


def _inconclusive(values: Values, cells: Cells, summary: Summary) -> str:
    reason = values["reason"].replace("_", " ")
    name = _name(summary, cells[0])
    return f"{name}: the search was inconclusive ({reason}): {values['message']}."


def _highest_rate(values: Values, cells: Cells, summary: Summary) -> str:
    """A cell's highest rate, its ratio to the next known one, and cells that may exceed it."""
    key = values["cell"]
    rate = _maximum(summary, key, False)
    if values["bound"]:
        rate = f"at least {figure(summary.cell(key).estimates[CONNECTIONS].value)}"
    text = f"{capital(_name(summary, key))}: {rate} new connections/s"
    if not values["open"]:
        text += " at most"
    elif not values["steady"]:
        text += ", a rate that was not steady"
    elif not values["bound"]:
        text += " or more"
    others = values["others"]
    more = ""
    if others:
        who = _name(summary, others[0]) if len(others) == 1 else counted(len(others), "other")
        more = f"; {who} may take more"
    return f"{text}{_rival(values['rival'], summary)}{more}."


def _rival(values: Values | None, summary: Summary) -> str:
    if values is None:
        return ""
    name, ratio = _name(summary, values["cell"]), values["ratio"]
    if ratio is None:
        return f"; {name}: {_maximum(summary, values['cell'], values['bound'])}"
    if not values["established"]:
        left = ""
        if not values["bound"] and values["may_differ"] is not None:
            left = f" (by {difference(values['may_differ'])} at most)"
        return f"; no difference from {name} is established{left}"
    if values["bound"]:
        return f", at least {ratio_figure(ratio.low)} times that of {name}"
    return f", {with_interval(ratio, unit='times')} that of {name}"


def _no_valid_maximum(values: Values, cells: Cells, summary: Summary) -> str:
    note, others = values["why"], values["others"]
    why = (
        note.message
        or validity.message(note)
        or reasons.SENTENCES[note.code](note.values, (values["cell"],), summary)
    )
    more = f" and {counted(others, 'other')}" if others else ""
    why = shorten(why, _REASON, placeholder=" ...")
    return f"No valid maximum: {_name(summary, values['cell'])} ({why}){more}."


def _meets_objective(values: Values, cells: Cells, summary: Summary) -> str:
    name = capital(_name(summary, values["cell"]))
    return f"{name} meets {values['objective']} {capacity_words(values['capacity'])}."


def _certainty(values: Values, cells: Cells, summary: Summary) -> str:
    """The certainty of the answer, for the best of several cells."""
    words = f"{counted(values['n'], 'repetition')} of the maximum"
    if values["n"] < LEAST_BLOCKS:
        return f"{words}: dots only, no interval"
    words += f", response times at {counted(values['loads'], 'load')}; intervals of 95 %"
    pairs = values["pairs"]
    return f"{words}; {counted(pairs, 'pair')} of cells tested together" if pairs > 1 else words


def _no_maximum(values: Values, cells: Cells, summary: Summary) -> str:
    return "No cell has a valid maximum: Details say why."


def _maximum_too_wide(values: Values, cells: Cells, summary: Summary) -> str:
    name = _name(summary, values["cell"])
    return f"The interval of the maximum is too wide for a sentence: {name}."


SENTENCES: Sentences = {
    "answer": _maxima,
    "open": _open,
    "generators": _generators,
    "scaling": _scaling,
    "platforms": _platforms,
    "variants": _variants,
    "growth": _growth,
    "latency": _latency,
    "patience": _patience,
    "bend": _bend,
    "objective": _objective,
    "remedies": _remedies,
    "validation": _validation,
    "inconclusive": _inconclusive,
    "highest_rate": _highest_rate,
    "no_valid_maximum": _no_valid_maximum,
    "meets_objective": _meets_objective,
    "certainty": _certainty,
    "no_maximum": _no_maximum,
    "maximum_too_wide": _maximum_too_wide,
}
