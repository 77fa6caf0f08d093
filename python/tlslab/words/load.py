"""The load of a run in words: what every report has in its head."""

from collections.abc import Mapping, Sequence

from tlslab.domain.finding import Summary


def load_facts(summary: Summary) -> tuple[tuple[str, str], ...]:
    """The load of each connection, as names and values; levels where cells differ in it."""
    work, levels = summary.experiment.workload, summary.experiment.factors
    kept = work.get("keep_alive") or {}
    pairs = [
        ("Document", _document(summary)),
        ("Connections at once", _at_once(summary)),
        (
            "Requests on each connection",
            _by_cell(levels, "requests", work.get("requests_per_connection")),
        ),
        ("HTTP", _by_cell(levels, "http", work.get("http"))),
        ("Streams", _streams(levels.get("http", (work.get("http"),)), work.get("streams"))),
        ("Resumption", _resumption(summary)),
        ("Connections kept open", _by_cell({}, "", kept.get("connections"))),
    ]
    if kept:
        spoken = (kept.get("http"),) if kept.get("http") else levels.get("http", ("1.1",))
        pairs.append(("Streams on those", _streams(spoken, kept.get("streams"))))
    return tuple(pair for pair in pairs if pair[1])


def load_words(summary: Summary) -> str:
    """The load in one sentence, for the head of a report; empty for runs without connections."""
    known = dict(load_facts(summary))
    if "Requests on each connection" not in known:
        return ""
    of = {
        "Connections at once": "connections at once: {}",
        "Requests on each connection": "requests each: {}",
        "Document": "response: {}",
        "HTTP": "HTTP {}",
        "Streams": "streams: {}",
        "Resumption": "resumption: {}",
        "Connections kept open": "kept open beside those: {}",
    }
    return "Load: " + "; ".join(of[name].format(known[name]) for name in of if name in known) + "."


def _document(summary: Summary) -> str:
    """The size of a response; of a server that the lab did not start, its URL determines it."""
    work, levels = summary.experiment.workload, summary.experiment.factors
    if work.get("document_bytes") and not summary.environment.target.managed:
        return "that of the URL"
    return _by_cell(levels, "document_bytes", work.get("document_bytes"), "bytes")


def _at_once(summary: Summary) -> str:
    """The connections in flight at any instant; a search has a range, and open loops need more."""
    work, levels = summary.experiment.workload, summary.experiment.factors
    if search := (work.get("capacity") or {}).get("search"):
        return (
            f"{search['first']} to {search['most']}, by search; in open loops as many as it takes"
        )
    return _by_cell(levels, "connections", work.get("connections"))


def _by_cell(
    levels: Mapping[str, Sequence[str]], factor: str, otherwise: object, unit: str = ""
) -> str:
    """The levels of a factor of the load, or the value that all cells have."""
    given = levels.get(factor) or (() if otherwise in (None, "", 0) else (f"{otherwise}",))
    figures = [f"{int(each):,}" if each.isdecimal() else each for each in given]
    text = ", ".join(figures) + (f" {unit}" if unit and figures else "")
    return f"{text} (by cell)" if len(figures) > 1 else text


def _streams(spoken: Sequence[object], streams: object) -> str:
    """The requests in flight on a connection of HTTP/2; empty for HTTP/1.1."""
    return f"{streams} at once (HTTP/2)" if "2" in spoken and streams else ""


def _resumption(summary: Summary) -> str:
    """Which connections resume an earlier session, and how."""
    work, levels = summary.experiment.workload, summary.experiment.factors
    if summary.proof is not None:
        return "none by new clients; returning ones resume where the server lets them"
    if "resume" not in work and "resume" not in levels and "resumed" not in levels:
        return ""
    way = work.get("resume", "none")
    ways = levels.get("resume") or (way,)
    shares = levels.get("resumed") or (f"{100 * work.get('resume_ratio', 1.0):g}%",)
    if shares == ("0%",) or (ways == ("none",) and "resumed" not in levels):
        return "none"
    by = f", by {', '.join(ways)}" if ways != ("none",) else ""
    text = f"{', '.join(shares).replace('%', ' %')} of connections{by}"
    return f"{text} (by cell)" if len(ways) > 1 or len(shares) > 1 else text
