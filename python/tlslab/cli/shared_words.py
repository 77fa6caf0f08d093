"""Words that several commands share."""

from collections.abc import Iterable, Iterator

from tlslab.domain.plan import Excluded
from tlslab.domain.wording import counted


def duration(seconds: float) -> str:
    """A time in words: `44 s`, `1 min 05 s`, `3 h 20 min`, `2 days 4 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    hours, minutes = divmod(round(whole / 60), 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(round(hours + minutes / 60), 24)
    return f"{days} days {hours} h"


def span(least: float | None, most: float) -> str:
    """The time that a run takes: `about 44 s`, or `20 s to 3 min 05 s` if its answer may end it."""
    if least is None:
        return f"about {duration(most)}"
    return f"{duration(least)} to {duration(most)}"


def left_out_words(excluded: Iterable[Excluded]) -> Iterator[str]:
    """A line on the cells that are left out, with the most frequent reason."""
    reasons = by_reason(excluded)
    if reasons:
        reason, _ = reasons[0]
        cells = counted(sum(count for _, count in reasons), "cell")
        others = counted(len(reasons) - 1, "other reason")
        more = f", and {others} (--dry-run lists them)" if len(reasons) > 1 else ""
        yield f"left out: {cells}: {reason}{more}"


def by_reason(excluded: Iterable[Excluded]) -> list[tuple[str, int]]:
    """The reasons for leaving cells out, each with the number of cells, most frequent first."""
    counts: dict[str, int] = {}
    for each in excluded:
        counts[each.reason] = counts.get(each.reason, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])


def lost_words(host: str, reason: str) -> str:
    """A warning with the lost generator and the reason."""
    return f"warning: the generator {host} was lost: {reason}"
