"""What is not known of an offer."""

from collections.abc import Iterable, Sequence

from tlslab.model.wording import counted


def certificates_known(incomplete: str | None, unanswered_topics: Iterable[str]) -> bool:
    """Whether a probe got all certificates: otherwise the server may have others."""
    return incomplete is None and not {"versions", "certificates"} & set(unanswered_topics)


def doubt_words(incomplete: str | None, unanswered: Sequence[str]) -> str | None:
    """Why an offer is not wholly known, by a probe's own words; None if it is."""
    parts = [] if incomplete is None else [f"the probe ended early ({incomplete})"]
    if unanswered:
        more = len(unanswered) - 1
        others = f", and {counted(more, 'other question')} had no answer" if more else ""
        parts.append(f"{unanswered[0]}{others}")
    return "; ".join(parts) or None
