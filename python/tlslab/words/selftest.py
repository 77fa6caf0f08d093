"""A self-test in sentences: for its own result, and in short for reports of later runs."""

from collections.abc import Iterator

from tlslab.domain.estimates import estimate_name
from tlslab.domain.plain import plain
from tlslab.domain.selftest import Ability, Selftest, Tries
from tlslab.domain.wording import counted
from tlslab.words.numbers import interval


def selftest_words(selftest: Selftest) -> str:
    """The consequence of a self-test for a run on the same machine with the same version."""
    parts = [
        f"by {estimate_name(ability.estimate)} {_smallest(ability)}, "
        f"with {alarms_words(ability.alarms)}"
        for ability in selftest.by
    ]
    when = f"tries of {counted(selftest.blocks, 'block')} on this machine, {selftest.created[:10]}"
    return plain(f"{when}: {'; '.join(parts)}", 1000)


def alarms_words(alarms: Tries) -> str:
    """The number of false alarms, and the rates that it excludes."""
    if not alarms.tries:
        return "no try of equal servers was finished"
    excluded = f" (more than {share_words(alarms.high)} is excluded)"
    if alarms.low > 0:
        excluded = interval(alarms.low, alarms.high, share_words)
    return f"{counted(alarms.found, 'false alarm')} of {_tries(alarms)}{excluded}"


def ability_lines(ability: Ability) -> Iterator[str]:
    """What the self-test says of one estimate; lines about slowdowns are indented."""
    by, alarms = estimate_name(ability.estimate), alarms_words(ability.alarms)
    yield f"By {by}: {alarms} between equal servers."
    yield f"  Slowdowns: {_smallest(ability)}."
    if ability.detectable:
        listed = [
            f"{share_words(each.share)} with {counted(each.blocks, 'block')}"
            for each in ability.detectable
        ]
        yield f"  Found 9 times in 10, by the noise here: {', '.join(listed)}."
    if ability.between is not None:
        yield (
            f"  From try to try the same server differs by {share_words(ability.between)} "
            "(standard deviation): `tlslab compare A B` counts this between two runs."
        )


def selftest_notes(selftest: Selftest) -> tuple[str, str]:
    """The length of a try with its consequences, and the origin of the result."""
    return (
        f"A try has {counted(selftest.blocks, 'block')}, with measurements of "
        f"{selftest.measure_ms} ms; more and longer ones find smaller differences. "
        "A false alarm is a try whose ranking sets equal servers apart.",
        f"{selftest.created}, tlslab {selftest.tlslab}, kernel "
        f"{selftest.machine.get('kernel', 'unknown')}, {selftest.machine.get('processor', '')}",
    )


def _tries(tries: Tries) -> str:
    return f"{tries.tries} {'try' if tries.tries == 1 else 'tries'}"


def _smallest(ability: Ability) -> str:
    smallest = ability.smallest
    if smallest is None:
        return "no slowdown was found in every try"
    found = smallest.found
    of = f"{found.found} of {_tries(found)}{interval(found.low, found.high, share_words)}"
    return f"a slowdown of {share_words(smallest.share)} was found in {of}"


def share_words(share: float) -> str:
    """A share as a percentage, with one decimal below ten percent if it has one: `2.5 %`."""
    return f"{100 * share:.{0 if share >= 0.1 or round(100 * share, 1) % 1 == 0 else 1}f} %"
