"""What is not known of an offer."""

from collections.abc import Iterable, Sequence

from tlslab.domain.wording import counted


def certificates_known(incomplete: str | None, unanswered_topics: Iterable[str]) -> bool:
    """Whether a probe got all certificates: otherwise the server may have others."""
    return incomplete is None and not {"versions", "certificates"} & set(unanswered_topics)


def doubt_words(
    incomplete: str | None, unanswered: Sequence[str], is_spoken: bool = True
) -> str | None:
    """Why an offer is not wholly known, by a probe's own words; None if it is.

    `is_spoken`: whether the server accepted any version. A server that refuses all of them may do
    so because of the name, of a client certificate, or of its load: its offer is not known.
    """
    parts = [] if incomplete is None else [f"the probe ended early ({incomplete})"]
    if not is_spoken:
        parts.append("the server accepted no version")
    if unanswered:
        more = len(unanswered) - 1
        others = f", and {counted(more, 'other question')} had no answer" if more else ""
        parts.append(f"{unanswered[0]}{others}")
    return "; ".join(parts) or None
