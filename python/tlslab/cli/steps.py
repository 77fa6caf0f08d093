"""The progress of a capacity experiment's steps."""

from collections.abc import Iterator, Mapping

from tlslab.cli.shared_words import duration, left_out_words
from tlslab.domain import events
from tlslab.domain.capacity import Step
from tlslab.domain.run_record import load_summaries
from tlslab.domain.trial import Trial
from tlslab.domain.wording import counted

_STAGES = {
    "warm_up": "warm-up",
    "search": "search",
    "maximum": "maximum",
    "open_loop": "open loop",
    "remedy": "remedy",
    "validation": "packet capture",
    "within": "within the objective",
}


def steps_opening(event: events.StepsStarted) -> Iterator[str]:
    """The line for a step that starts."""
    plan, left = event.plan, event.left
    yield (
        f"about {time_left(left)}: {counted(len(plan.cells), 'cell')} against {event.target}, "
        f"{counted(left.steps, 'step')} at most, seed {plan.seed}; results in {event.folder}"
    )
    if left.done:
        yield f"{counted(left.done, 'step')} done before"
    yield from left_out_words(plan.excluded)


def time_left(left: events.Left) -> str:
    """The time left, in words."""
    return duration(left.seconds)


def begun_words(step: Step) -> str:
    """`search, 32 connections at once`."""
    return _words(step.factors)


def ended_words(trial: Trial, left: events.Left) -> str:
    """A finished step: the position in the run, the step, its result, the steps left."""
    place = f"[{left.done}/{left.done + left.steps} at most]"
    return f"{place} {trial.cell}: {_words(trial.factors)}: {step_outcome(trial)}"


def step_outcome(trial: Trial) -> str:
    """A step's result in short."""
    if trial.reason is not None:
        return f"{trial.status}: {trial.reason.class_}: {trial.reason.message}"
    if trial.validation is not None:
        return f"{counted(trial.validation.matched, 'connection')} compared"
    record = next(iter(trial.runs.values())).record
    if not (record.outcomes.completed and record.seconds):
        return "no connection was completed"
    rate = record.outcomes.completed / record.seconds
    said = f"{rate:,.0f} connections/s"
    if (response := load_summaries(record).get("response")) is not None and response.n:
        said += f", response p50 {response.p50_ms:.1f} p99 {response.p99_ms:.1f} ms"
    return said


def _words(factors: Mapping[str, str]) -> str:
    words = [_STAGES.get(factors["stage"], factors["stage"])]
    if "fraction" in factors:
        words.append(f"{float(factors['fraction']) * 100:g} % of the maximum ({factors['rate']}/s)")
    else:
        words.append(f"{factors['connections']} at once")
    if "resume_ratio" in factors:
        words.append(f"{float(factors['resume_ratio']) * 100:g} % resumed")
    if "requests_per_connection" in factors:
        requests = factors["requests_per_connection"]
        words.append(f"{requests} request{'' if requests == '1' else 's'} each")
    return ", ".join(words)
