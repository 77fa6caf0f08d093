"""The processors that a load needs, in words for a terminal."""

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tlslab.domain.plain import plain
from tlslab.domain.run import Environment
from tlslab.domain.sizing import Sizing
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import cell_label, counted, difference, figure, joined, percent


def render_sizing(sizing: Sizing, environment: Environment) -> RenderableType:
    """The answer, the cost of a connection, and the assumptions."""
    return Group(
        Text(plain(_answer(sizing)), style="bold"),
        *(Text(plain(line), style="yellow") for line in _caution(sizing)),
        Text(),
        Text(plain(_cost(sizing, environment))),
        _shares(sizing),
        Text(),
        *(Text(plain(line)) for line in _grounds(sizing, environment)),
    )


def _answer(sizing: Sizing) -> str:
    verb = "carries" if sizing.processors == 1 else "carry"
    mix = cell_label(sizing.mix)
    processors, rate = counted(sizing.processors, "processor"), figure(sizing.rate)
    if sizing.asked == "processors":
        ends = (sizing.processors_low, sizing.processors_high)
        processors += _interval(sizing, *ends, write="{:,}".format)
    else:
        rate += _interval(sizing, sizing.rate_low, sizing.rate_high)
    return f"{processors} {verb} {rate} new connections/s: {mix}."


def _interval(
    sizing: Sizing, low: float | None, high: float | None, write: Callable[[float], str] = figure
) -> str:
    """` (95 %: 2 to 3)`; empty without an interval, or with too few blocks to support one."""
    if low is None or high is None or sizing.blocks < LEAST_BLOCKS:
        return ""
    return f" (95 %: {write(low)} to {write(high)})"


def _caution(sizing: Sizing) -> list[str]:
    """The reservations about the answer."""
    lines = []
    if sizing.blocks < LEAST_BLOCKS:
        lines.append(
            f"Only an indication: {counted(sizing.blocks, 'block')} of calibration, fewer than "
            f"{LEAST_BLOCKS}, carry no answer; make it again with --blocks {LEAST_BLOCKS} or more."
        )
    if sizing.error is None:
        lines.append(
            "Only an indication: no mix was held out of the calibration, so that the model's error "
            "is not known, and is not in the interval."
        )
    if sizing.beyond:
        lines.append(
            f"Only an indication: outside of what was measured are {joined(sizing.beyond)}; the "
            "model's error there is not known."
        )
    most = sizing.processors_high
    if most is not None and sizing.processors < most:
        lines.append(
            f"Whether {counted(sizing.processors, 'processor')} will do is not established; "
            f"{most:,} will, by the whole interval."
        )
    return lines


def _cost(sizing: Sizing, environment: Environment) -> str:
    cost = f"{figure(sizing.cost.value)}{_interval(sizing, sizing.cost.low, sizing.cost.high)}"
    return (
        f"Such a connection costs {environment.target.name} {cost} microseconds of processor time:"
    )


def _shares(sizing: Sizing) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("part")
    table.add_column("of it", justify="right")
    table.add_column("server µs", justify="right")
    for share in sizing.shares:
        cost = f"{figure(share.cost_us)}{_interval(sizing, share.low_us, share.high_us)}"
        table.add_row(plain(share.part), f"{share.count:g}", cost)
    return table


def _not_excluded(sizing: Sizing) -> str:
    """The possible error of the model by these mixes, and its effect on the answer."""
    if sizing.blocks < LEAST_BLOCKS:
        return "."
    if sizing.error_bound is None or sizing.error_bound == sizing.error:
        return ": the interval is widened by it either way."
    return (
        f"; {difference(sizing.error_bound)} is not excluded (95 %), by which the interval is "
        "widened either way."
    )


def _grounds(sizing: Sizing, environment: Environment) -> list[str]:
    """The deciding limit, the accuracy of the model, the assumptions."""
    allowed = f"a processor may be {percent(sizing.busy_at_most)} busy (--busy)"
    if sizing.limit == "busy":
        decided = f"{allowed}, which is the limit here"
        if sizing.objective is not None:
            queue = f"the queue M/M/{sizing.processors}"
            decided += f"; {sizing.objective} is met in {queue} by the cost's value"
    else:
        decided = f"{sizing.objective} in the queue M/M/{sizing.processors} is the limit here"
    busy = "processor is" if sizing.processors == 1 else "processors are"
    lines = [f"The {busy} {percent(sizing.busy)} busy with it: {decided}."]
    if sizing.error is not None:
        mixes = "one mix" if sizing.checks == 1 else f"{sizing.checks} mixes"
        lines.append(
            f"The cost model's largest error on {mixes} held out of its fit is "
            f"{percent(sizing.error)}{_not_excluded(sizing)}"
        )
    processor = environment.machine.get("processor")
    kind = f" ({processor})" if processor else ""
    lines.append(
        f"Assumed: processors like the measured one{kind}, whose capacities add up (tlslab run "
        "capacity shows how far they do). Not included: the interrupts of a network card."
    )
    if sizing.objective is not None:
        lines.append(
            f"{sizing.objective} was computed, not measured: check it with `tlslab run capacity "
            f"--objective '{sizing.objective}'`."
        )
    return lines
