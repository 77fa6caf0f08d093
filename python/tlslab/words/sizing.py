"""The answer to a question of sizing in sentences, or why there is none."""

from tlslab.domain.errors import CannotTellError, TlslabError, UsageError
from tlslab.domain.run import Environment
from tlslab.domain.sizing import Beyond, NoSizingError, Sizing
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.domain.wording import (
    cell_label,
    counted,
    difference,
    figure,
    joined,
    level_label,
    percent,
)
from tlslab.words.numbers import interval, with_interval


def refusal(found: NoSizingError) -> TlslabError:
    """The error that ends a command without an answer."""
    values = found.values
    match found.code:
        case "objective_unmet":
            return UsageError(
                f"no number of processors meets {values['objective']}: a connection alone takes "
                f"{figure(values['cost_us'] / 1000)} ms of one",
                "raise the limit of --objective, or plan for cheaper connections (--key, --group)",
            )
        case "objective_open":
            cost = values["cost"]
            return CannotTellError(
                f"whether any number of processors meets {values['objective']}, "
                "this calibration cannot tell: a connection alone takes "
                f"{figure(cost.value / 1000)} ms of one by its cost, {figure(cost.high / 1000)} ms "
                "by the upper end of the interval",
                "raise the limit of --objective, or calibrate with more blocks: `tlslab run "
                "calibrate --blocks N`",
            )
        case "noise":
            about = f"a connection of this mix costs {with_interval(values['cost'])} µs by it"
        case "noise_of_mixes":
            about = "by it a mix that was measured may cost nothing"
    return CannotTellError(
        f"the calibration is too noisy to plan with: {about}",
        f"make it again on a quieter machine, with more than its "
        f"{counted(values['blocks'], 'block')}: `tlslab run calibrate --blocks N`",
    )


def answer(sizing: Sizing) -> str:
    """The processors for the rate, or the rate of the processors."""
    verb = "carries" if sizing.processors == 1 else "carry"
    mix = cell_label(sizing.mix)
    processors, rate = counted(sizing.processors, "processor"), figure(sizing.rate)
    if sizing.asked != "processors":
        rate = with_ends(sizing, sizing.rate, sizing.rate_low, sizing.rate_high)
    elif sizing.blocks >= LEAST_BLOCKS:
        processors += interval(sizing.processors_low, sizing.processors_high, "{:,}".format)
    return f"{processors} {verb} {rate} new connections/s: {mix}."


def with_ends(sizing: Sizing, value: float, low: float | None, high: float | None) -> str:
    """A number, with its interval if there are enough blocks to support one."""
    ends = interval(low, high) if sizing.blocks >= LEAST_BLOCKS else ""
    return figure(value) + ends


def cautions(sizing: Sizing) -> list[str]:
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
            "Only an indication: outside of what was measured are "
            f"{joined(list(map(_beyond, sizing.beyond)))}; the model's error there is not known."
        )
    most = sizing.processors_high
    if most is not None and sizing.processors < most:
        lines.append(
            f"Whether {counted(sizing.processors, 'processor')} will do is not established; "
            f"{most:,} will, by the whole interval."
        )
    return lines


def _beyond(found: Beyond) -> str:
    return f"{level_label(found.factor, found.level)} (measured: {found.low:,} to {found.high:,})"


def cost(sizing: Sizing, environment: Environment) -> str:
    """The cost of a connection of the mix; the line before that of its parts."""
    microseconds = with_ends(sizing, sizing.cost.value, sizing.cost.low, sizing.cost.high)
    return (
        f"Such a connection costs {environment.target.name} {microseconds} microseconds of "
        "processor time:"
    )


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


def grounds(sizing: Sizing, environment: Environment) -> list[str]:
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
