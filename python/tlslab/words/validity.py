"""Why numbers of a cell may not be used, or need a warning: faults of runs, notes on trials."""

from collections.abc import Callable, Mapping

from tlslab.domain.finding import CellSummary, Note, NoteOf, Values
from tlslab.domain.wording import counted, figure, percent

# The measurements that a note names, because they are not the one that loads the server.
_ABOUT: Mapping[NoteOf, str] = {
    "client_cost": "the run of the client's cost: ",
    "keep_alive": "connections kept open: ",
    "maximum": "maximum: ",
    "search": "the search was inconclusive: ",
}


def _server_lost(values: Values) -> str:
    return (
        f"the server was ready and did not run for {percent(values['share'])} of its processors' "
        "time, taken by other programs or its control group's quota"
    )


def _neither_saturated(values: Values) -> str:
    return (
        f"the server was {percent(values['server'])} busy, the generator "
        f"{percent(values['client'])}: something else set the rate; try more connections"
    )


def _backlog(values: Values) -> str:
    waited = f"{counted(values['count'], 'connection')} waited 1 s or more to connect"
    match values["overflows"]:
        case None:
            return f"{waited}: the server's backlog is too short, or packets were lost on the way"
        case 0:
            return f"{waited}, and no listen queue of this machine overflowed: packets were lost"
        case rose:
            return f"{waited}: the server's backlog is too short (ListenOverflows rose by {rose:,})"


def _not_run(values: Values) -> str:
    if "planned" not in values:
        return "none of its steps was run"
    return f"none of {values['planned']} planned trials was run"


def _incomplete(values: Values) -> str:
    if "planned" not in values:
        return "the search had not ended when the run did"
    return f"{values['run']} of {values['planned']} planned trials were run"


def _classes(values: Values) -> str:
    """Each class with its count and its most frequent reason."""

    def one(name: str, count: int, reason: str, of_them: int) -> str:
        share = "" if of_them == count else f", {of_them:,} of them"
        return f"{name} {count:,}" + (f"{share}: {reason}" if reason else "")

    return ", ".join(
        one(each["class"], each["count"], each["reason"], each["of_them"])
        for each in values["classes"]
    )


def _littles_law(values: Values) -> str:
    if "times" in values:
        completed = counted(values["completed"], "connection")
        return f"{completed} completed, {values['times']:,} times were recorded"
    return (
        f"completed connections were in flight for {figure(values['in_flight_s'])} s in all, their "
        f"service times make {figure(values['service_s'])} s"
    )


_TEXTS: Mapping[str, Callable[[Values], str]] = {
    "accounting": lambda v: f"{v['attempts']:,} attempts do not match their outcomes",
    "backlog": _backlog,
    "client_saturated": lambda v: (
        f"the generator was {percent(min(1.0, v['client']))} busy and may have been the limit: "
        "rates are lower bounds"
    ),
    "disturbed": lambda v: (
        f"other programs took {percent(v['share'])} of the server's processor: end them and run "
        "again"
    ),
    "failures": lambda v: f"connections failed: {_classes(v)}",
    "fallback": lambda v: (
        f"the library made all connections: the minimal client could not be used ({v['why']})"
    ),
    "incomplete": _incomplete,
    "interrupted": lambda v: "interrupted before its end",
    "littles_law": _littles_law,
    "neither_saturated": _neither_saturated,
    "no_capacity_run": lambda v: "the run that loads the server is missing",
    "not_run": _not_run,
    "nothing_completed": lambda v: f"none of {counted(v['attempts'], 'connection')} completed",
    "refill": lambda v: (
        "the server gives no session ticket on resumed connections: full handshakes beside the "
        "load collected the sessions to resume, so that rates and processor times are not those of "
        "resumed connections"
    ),
    "repeated": lambda v: (
        f"measured {v['attempts']} times, because one side did not get its processors; the last "
        "one counts"
    ),
    "server_delayed": lambda v: f"{_server_lost(v)}: rates are lower bounds",
    "server_starved": lambda v: f"{_server_lost(v)}: end them and run again",
    "shared_processor": lambda v: (
        "server and generator share a processor: the server had less than its processors, and the "
        "maximum is a lower bound"
    ),
    "start_skew": lambda v: (
        f"the generators began up to {figure(v['seconds'] * 1e3)} ms apart: their rates are each "
        "over a time of its own"
    ),
    "steal": lambda v: f"the host took {percent(v['share'])} of the machine's time for others",
    "unexpected": lambda v: f"other handshakes than asked for: {_classes(v)}",
    "unsupported": lambda v: "the server does not support it",
    "slowdown": lambda v: "the rate fell during the measurement",
    "unstable": lambda v: "the rate had no steady level during the measurement",
    "warm_up": lambda v: "the rate still rose at the start: a longer warm-up is better",
}


def message(note: Note) -> str | None:
    """The sentence of a note on a cell's trials; None for a code that is not of them.

    `message` among its values is a sentence of the engine, of a server or of a search.
    """
    values, about = note.values, _ABOUT.get(note.of, "")
    if "message" in values:
        text = str(values["message"])
    elif note.bare in _TEXTS:
        text = _TEXTS[note.bare](values)
    else:
        return None
    if "run" in values and isinstance(values["run"], str):
        text = f"{values['run']}: {text}"
    return f"{_how_often(values)}{about}{text}"


def reasons_words(cell: CellSummary) -> str:
    """The reasons of a cell's verdict."""
    return "; ".join(note.message or message(note) or note.code for note in cell.reasons)


def _how_often(values: Values) -> str:
    """The number of trials or steps that a note is of, unless it is of all trials."""
    if "steps" in values:
        return f"{values['steps']} of {counted(values['of'], 'step')} failed: "
    if "trials" in values:
        return f"{counted(values['trials'], 'trial')}: "
    if "in" in values and values["in"] != values["of"]:
        return f"{values['in']} of {values['of']} trials: "
    return ""
