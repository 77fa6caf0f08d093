"""Times of the clock in ISO 8601, as run folders have them."""

from datetime import UTC, datetime


def instant(text: str) -> datetime:
    """The time in UTC; a text without a zone is in UTC. Raises ValueError."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"no time in ISO 8601: {text!r:.60}") from None
