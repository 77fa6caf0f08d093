"""What is not known of an offer, in words."""

from collections.abc import Sequence

from tlslab.model.wording import counted


def doubt_words(incomplete: str | None, unanswered: Sequence[str]) -> str | None:
    """Why an offer is not wholly known, by a probe's own words; None if it is."""
    parts = [] if incomplete is None else [f"the probe ended early ({incomplete})"]
    if unanswered:
        more = len(unanswered) - 1
        others = f", and {counted(more, 'other question')} had no answer" if more else ""
        parts.append(f"{unanswered[0]}{others}")
    return "; ".join(parts) or None
