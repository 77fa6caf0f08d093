"""A self-test: as a sentence for reports of later runs, and as tables."""

from rich.console import Group, RenderableType
from rich.text import Text

from tlslab.domain.estimates import estimate_name
from tlslab.domain.plain import plain
from tlslab.domain.selftest import Ability, Planted, Selftest, Tries
from tlslab.domain.wording import counted
from tlslab.report.numbers import Grid, Place
from tlslab.report.terminal_tables import fitting
from tlslab.report.view import Value


def selftest_words(selftest: Selftest) -> str:
    """The consequence of a self-test for a run on the same machine with the same version."""
    parts = [
        f"by {_name(ability)} {_smallest(ability)}, with {alarms_words(ability.alarms)}"
        for ability in selftest.by
    ]
    when = f"tries of {counted(selftest.blocks, 'block')} on this machine, {selftest.created[:10]}"
    return plain(f"{when}: {'; '.join(parts)}", 1000)


def alarms_words(alarms: Tries) -> str:
    """The number of false alarms, and the rates that it excludes."""
    if not alarms.tries:
        return "no try of equal servers was finished"
    excluded = f"more than {_percent(alarms.high)} is excluded"
    if alarms.low > 0:
        excluded = f"95 %: {_percent(alarms.low)} to {_percent(alarms.high)}"
    return f"{counted(alarms.found, 'false alarm')} of {_tries(alarms)} ({excluded})"


def render_selftest(selftest: Selftest) -> RenderableType:
    """The result, with its grounds."""
    notes = [
        f"A try has {counted(selftest.blocks, 'block')}, with measurements of "
        f"{selftest.measure_ms} ms; more and longer ones find smaller differences. "
        "A false alarm is a try whose ranking sets equal servers apart.",
        f"{selftest.created}, tlslab {selftest.tlslab}, kernel "
        f"{selftest.machine.get('kernel', 'unknown')}, {selftest.machine.get('processor', '')}",
    ]
    return Group(
        *(part for ability in selftest.by for part in (*_lines(ability), Text())),
        fitting("Planted slowdowns", _grid(selftest)),
        *(Text(plain(note, 1000), style="dim") for note in notes),
    )


def _lines(ability: Ability) -> list[Text]:
    lines = [
        f"By {_name(ability)}: {alarms_words(ability.alarms)} between equal servers.",
        f"  Slowdowns: {_smallest(ability)}.",
    ]
    if ability.detectable:
        listed = [
            f"{_percent(each.share)} with {counted(each.blocks, 'block')}"
            for each in ability.detectable
        ]
        lines.append(f"  Found 9 times in 10, by the noise here: {', '.join(listed)}.")
    if ability.between is not None:
        lines.append(
            f"  From try to try the same server differs by {_percent(ability.between)} (standard "
            "deviation): `tlslab compare A B` counts this between two runs."
        )
    return [Text(plain(line, 1000)) for line in lines]


def _name(ability: Ability) -> str:
    return estimate_name(ability.estimate)


def _tries(tries: Tries) -> str:
    return f"{tries.tries} {'try' if tries.tries == 1 else 'tries'}"


def _smallest(ability: Ability) -> str:
    smallest = ability.smallest
    if smallest is None:
        return "no slowdown was found in every try"
    found = smallest.found
    share = f"{_percent(found.low)} to {_percent(found.high)}"
    of = f"{found.found} of {_tries(found)} (95 %: {share})"
    return f"a slowdown of {_percent(smallest.share)} was found in {of}"


def _grid(selftest: Selftest) -> Grid:
    return Grid(
        ("by", "slowdown", "found", "95 %", "ratio", "95 %"),
        tuple(_row(ability, each) for ability in selftest.by for each in ability.planted),
    )


def _row(ability: Ability, each: Planted) -> tuple[Place, ...]:
    found = each.found
    interval = "" if each.low is None or each.high is None else f"{each.low:.3f} to {each.high:.3f}"
    return (
        Place(Value(_name(ability)), False),
        _place(_percent(each.share)),
        _place(f"{found.found} of {found.tries}"),
        _place(f"{_percent(found.low)} to {_percent(found.high)}"),
        _place("" if each.ratio is None else f"{each.ratio:.3f}"),
        _place(interval),
    )


def _place(text: str) -> Place:
    return Place(Value(text), True)


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 or round(100 * share, 1) % 1 == 0 else 1}f} %"
