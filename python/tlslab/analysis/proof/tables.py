"""The tables, the chart and the texts of a proof."""

from collections.abc import Mapping, Sequence

from tlslab.analysis.proof.answer import as_estimate, leading
from tlslab.domain.configuration import BASELINE, CANDIDATE, Configuration
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import MICRO, quantity
from tlslab.domain.figure import DataTable, Figure, Series, TextBlock
from tlslab.domain.plan import Excluded
from tlslab.domain.proof import Direction, Proof, ProofFigure, SeenTls
from tlslab.domain.proof_settings import Measure, ProofSettings
from tlslab.domain.run import RunContents

# The names of measures in tables and charts.
_SHORT: Mapping[Measure, str] = {
    "connections": "connections",
    "new": "new clients",
    "returning": "returning clients",
    "requests": "requests, kept open",
    "handshake": "handshake, p99",
}

_DIRECTIONS: Mapping[Direction, str] = {
    "gain": "gain",
    "loss": "loss",
    "equal": "no difference",
    "open": "cannot tell",
}


def table(proof: Proof, found: Sequence[SeenTls]) -> tuple[DataTable, ...]:
    """The measures with both sides, and the parameters that each configuration negotiates."""
    measures = DataTable(
        id="measures",
        title="Baseline and candidate",
        caption="",
        columns=("measure", "by", "times as good", "verdict", BASELINE, CANDIDATE),
        rows=tuple(map(_row, proof.figures)),
        brief=("measure", "by", "times as good", "verdict"),
    )
    return (measures, _negotiated(found)) if found else (measures,)


def _row(found: ProofFigure) -> tuple[str | Estimate, ...]:
    words = found.why_open or _DIRECTIONS[found.direction]
    if not found.decides:
        words = f"({words})"
    ratio = as_estimate(found)
    return _SHORT[found.measure], _by(found), ratio, words, found.before, found.after


def _by(found: ProofFigure) -> str:
    """The name of a ratio without its measure, which stands in another column."""
    if found.measure == "handshake":
        return "ms"
    return "rate/s" if quantity(found.estimate).dimension == "rate" else f"server {MICRO} each"


def _negotiated(found: Sequence[SeenTls]) -> DataTable:
    rows = []
    for each in found:
        facts = each.facts
        retry = ", HelloRetryRequest" if facts.hello_retry_request else ""
        rows.append(
            (
                each.name,
                f"TLS {facts.tls}",
                facts.suite,
                f"{facts.group or '-'}{retry}",
                facts.signature_scheme or "-",
                each.resume or "no session is resumed",
            )
        )
    return DataTable(
        id="negotiated",
        title="What the measured client negotiates",
        caption="",
        columns=("", "version", "suite", "group", "signature", "returning clients resume by"),
        rows=tuple(rows),
    )


def chart(proof: Proof) -> tuple[Figure, ...]:
    """How many times as good the candidate is, for each deciding measure."""
    shown = leading(proof.figures)
    if not shown:
        return ()
    return (
        Figure(
            id="gains",
            title="Times as good as the baseline",
            caption=(
                "1 is no difference. Intervals of 95 % that hold together. By rates, or by the "
                "server's processor time: the table says which decides."
            ),
            kind="ranking",
            x_title="measure",
            y_title="times as good",
            series=(
                Series(
                    name="candidate",
                    x=tuple(_SHORT[each.measure] for each in shown),
                    y=tuple(each.better for each in shown),
                    low=tuple(each.low for each in shown),
                    high=tuple(each.high for each in shown),
                ),
            ),
        ),
    )


def configurations(settings: ProofSettings) -> tuple[TextBlock, ...]:
    """Both configurations as they ran, with the parts of the files that were left out."""
    return tuple(map(_text, settings.configurations))


def _text(found: Configuration) -> TextBlock:
    lines = [
        f"# certificate: {_certificate(each.key, each.certificate)}" for each in found.certificates
    ]
    lines += [f"# {note}" for note in found.notes]
    if found.ignored:
        lines.append(f"# not taken: {', '.join(found.ignored)}")
    if found.unread:
        lines.append(f"# not understood, and may set up TLS as well: {', '.join(found.unread)}")
    # Older runs have no text; they show the form of nginx.
    text = found.text or (*(["http2 on;"] if found.http2 else []), *found.lines)
    return TextBlock(
        id=f"configuration-{found.name}",
        title=f"The {found.name}'s TLS",
        caption=f"From {found.source}, as it was run.",
        text="\n".join([*lines, *text]),
    )


def _certificate(key: str, file: str) -> str:
    return f"{key}, {file}" if file else f"{key}, made by the lab"


def excluded_clients(contents: RunContents) -> tuple[Excluded, ...]:
    """Combinations not measured: returning clients of a configuration that resumes no session."""
    unable = [each.name for each in contents.environment.found if each.resume is None]
    reason = (
        "it resumes no session of the measured client: returning clients are measured as new ones"
    )
    own = tuple(
        Excluded({"configuration": name, "clients": "returning"}, reason) for name in unable
    )
    return (*contents.plan.excluded, *own)
