"""A self-test: in a sentence for reports of later runs, and as tables."""

from rich.console import Group, RenderableType
from rich.text import Text

from tlslab.model.selftest import Planted, Selftest, Tries
from tlslab.report.made import fitting
from tlslab.report.numbers import Grid, Place
from tlslab.report.plain import plain
from tlslab.report.view import Value


def selftest_words(selftest: Selftest) -> str:
    """What it says of a run on the same machine with the same version."""
    smallest = selftest.smallest
    if smallest is None:
        found = "no planted slowdown was found in every try"
    else:
        found = (
            f"a slowdown of {_percent(smallest.share)} was told apart in {smallest.found.found} "
            f"of {smallest.found.tries} tries"
        )
    return plain(
        f"on this machine, {found} of {selftest.blocks} blocks on {selftest.created[:10]}; "
        f"{alarms_words(selftest.alarms)}"
    )


def alarms_words(alarms: Tries) -> str:
    """How many false alarms there were, and what that number excludes."""
    if not alarms.tries:
        return "no try of equal servers was finished"
    excluded = f"more than {_percent(alarms.high)} is excluded"
    if alarms.low > 0:
        excluded = f"95 %: {_percent(alarms.low)} to {_percent(alarms.high)}"
    return f"{alarms.found} false alarms of {alarms.tries} tries ({excluded})"


def render_selftest(selftest: Selftest) -> RenderableType:
    """What was found, with what it rests on."""
    lines = [
        f"Equal servers: {alarms_words(selftest.alarms)}.",
        f"Slowdowns: {_smallest(selftest)}.",
    ]
    if selftest.detectable:
        listed = ", ".join(
            f"{_percent(each.share)} with {each.blocks} blocks" for each in selftest.detectable
        )
        lines.append(f"A difference is found 9 times in 10 from {listed} on.")
    notes = [
        f"A try has {selftest.blocks} blocks with measurements of {selftest.measure_ms} ms each; "
        "longer or more of them tell less apart. A false alarm is a try whose ranking sets equal "
        "servers apart.",
        f"{selftest.created}, tlslab {selftest.tlslab}, kernel "
        f"{selftest.machine.get('kernel', 'unknown')}, {selftest.machine.get('processor', '')}",
    ]
    return Group(
        *(Text(plain(line, 1000)) for line in lines),
        Text(),
        fitting("Planted slowdowns", _grid(selftest.planted)),
        *(Text(plain(note, 1000), style="dim") for note in notes),
    )


def _smallest(selftest: Selftest) -> str:
    smallest = selftest.smallest
    if smallest is None:
        return "none was found in every try"
    return (
        f"{_percent(smallest.share)} is the smallest that was found in every try, "
        f"{smallest.found.found} of {smallest.found.tries}"
    )


def _grid(planted: tuple[Planted, ...]) -> Grid:
    return Grid(
        ("slowdown", "found", "95 %", "estimate", "ratio", "95 %"),
        tuple(_row(each) for each in planted),
    )


def _row(each: Planted) -> tuple[Place, ...]:
    found = each.found
    interval = "" if each.low is None or each.high is None else f"{each.low:.3f} to {each.high:.3f}"
    return (
        _place(_percent(each.share)),
        _place(f"{found.found} of {found.tries}"),
        _place(f"{_percent(found.low)} to {_percent(found.high)}"),
        Place(Value(each.estimate), False),
        _place("" if each.ratio is None else f"{each.ratio:.3f}"),
        _place(interval),
    )


def _place(text: str) -> Place:
    return Place(Value(text), True)


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 or round(100 * share, 1) % 1 == 0 else 1}f} %"
