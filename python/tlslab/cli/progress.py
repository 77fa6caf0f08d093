"""The progress of a run: a live line on a terminal, plain lines elsewhere.

Warnings are not shown here: the report lists them once, when all are known.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from tlslab.cli.console import err
from tlslab.cli.shared_words import duration, left_out_words, lost_words, span
from tlslab.cli.steps import begun_words, ended_words, steps_opening, time_left
from tlslab.domain import events
from tlslab.domain.plain import plain
from tlslab.domain.stopping import Forecast
from tlslab.domain.trial import Trial
from tlslab.domain.wording import counted
from tlslab.report.live.state import TrialsLeft


@contextmanager
def watch() -> Iterator[events.Observer]:
    """An observer that prints to standard error until the context ends."""
    if not err.is_terminal:
        yield Lines()
        return
    progress = Progress(
        TextColumn("{task.fields[cell]}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[rate]}"),
        console=err,
        # Redrawing takes processor time from the measurement.
        refresh_per_second=2,
        transient=True,
    )
    with progress:
        yield Live(progress)


class Lines:
    """One plain line per trial."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self._write = write or (lambda text: err.print(escape(text), soft_wrap=True))
        self._clock: TrialsLeft | None = None

    def __call__(self, event: events.Event) -> None:
        """Writes the line of an event."""
        for line in self._lines(event):
            self._write(plain(line))

    def _lines(self, event: events.Event) -> Iterator[str]:
        match event:
            case events.RunStarted():
                self._clock = TrialsLeft(event)
                yield from opening(event, self._clock)
            case events.TrialEnded(trial) if self._clock:
                self._clock.done += 1
                place = f"[{self._clock.done}/{self._clock.total}]"
                left = duration(self._clock.seconds())
                yield f"{place} {trial.cell}: {outcome(trial)}; {left} left"
            case events.StepsStarted():
                yield from steps_opening(event)
            case (
                events.Forecasted()
                | events.Sampled()
                | events.NotSampled()
                | events.Switched()
                | events.Unchanged()
                | events.GeneratorLost()
                | events.Repeated()
            ):
                yield beside_words(event)
            case events.StepEnded(trial, left):
                yield f"{ended_words(trial, left)}; {time_left(left)} left"
            case events.Skipped(trials, reason) if trials and self._clock:
                self._clock.total -= trials
                yield f"{reason}: {counted(trials, 'trial')} left out"


class Live:
    """A progress bar, with lines above the bar for events."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._clock: TrialsLeft | None = None

    def __call__(self, event: events.Event) -> None:
        """Updates the bar."""
        match event:
            case events.RunStarted():
                self._start(event)
            case events.TrialStarted(_, cell):
                self._update(cell=escape(cell), rate="")
            case events.Rate(_, _, pace):
                self._update(rate=speed(pace))
            case events.TrialEnded(trial):
                self._end(trial)
            case events.Skipped(trials, reason) if trials:
                self._skip(trials, reason)
            case (
                events.Forecasted()
                | events.Sampled()
                | events.NotSampled()
                | events.Switched()
                | events.Unchanged()
                | events.GeneratorLost()
                | events.Repeated()
            ):
                self._say(beside_words(event))
            case events.StepsStarted(left=left):
                self._begin_steps(event, left)
            case events.StepStarted(cell, step, left):
                text = escape(f"{cell}: {begun_words(step)}")
                self._update(cell=text, rate="", left=f"{time_left(left)} left")
            case events.StepEnded(trial, left):
                self._end_step(trial, left)

    def _say(self, text: str) -> None:
        self._progress.console.print(escape(plain(text)), soft_wrap=True)

    def _start(self, event: events.RunStarted) -> None:
        self._clock = TrialsLeft(event)
        for line in opening(event, self._clock):
            self._say(line)
        self._task = self._progress.add_task(
            "", total=self._clock.total, completed=event.done, cell="", left="", rate=""
        )

    def _begin_steps(self, event: events.StepsStarted, left: events.Left) -> None:
        for line in steps_opening(event):
            self._say(line)
        self._task = self._progress.add_task(
            "", total=left.done + left.steps, completed=left.done, cell="", left="", rate=""
        )

    def _end_step(self, trial: Trial, left: events.Left) -> None:
        """Updates the bar; its length is an upper bound that shrinks during the run."""
        if trial.status != "done":
            self._say(ended_words(trial, left))
        self._update(
            completed=left.done, total=left.done + left.steps, left=f"{time_left(left)} left"
        )

    def _end(self, trial: Trial) -> None:
        if trial.status != "done":
            self._say(f"{trial.cell}: {outcome(trial)}")
        if self._clock is not None and self._task is not None:
            self._clock.done += 1
            self._progress.advance(self._task)
            self._update(left=f"{duration(self._clock.seconds())} left")

    def _skip(self, trials: int, reason: str) -> None:
        self._say(f"{reason}: {counted(trials, 'trial')} left out")
        if self._clock is not None and self._task is not None:
            self._clock.total -= trials
            self._progress.update(self._task, total=self._clock.total)

    def _update(self, **fields: Any) -> None:
        if self._task is not None:
            self._progress.update(self._task, **fields)


def opening(event: events.RunStarted, clock: TrialsLeft) -> Iterator[str]:
    """The announcement of the run."""
    plan = event.plan
    against = "" if event.target is None else f" against {event.target}"
    length = span(event.at_least, clock.seconds())
    if event.sampling_s:
        length += f", then {duration(event.sampling_s)} of samples"
    yield (
        f"{length}: {counted(len(plan.cells), 'cell')} × {counted(plan.blocks, 'block')}{against}, "
        f"seed {plan.seed}; results in {event.folder}"
    )
    if event.done:
        yield f"{counted(event.done, 'trial')} done before"
    yield from left_out_words(plan.excluded)


def forecast_words(forecast: Forecast) -> str:
    """The number of blocks that the run will take, and their duration."""
    time = f"some {duration(forecast.seconds)} from here"
    if not forecast.settles:
        verb = "may" if forecast.may_settle else "will"
        return (
            f"forecast: all {counted(forecast.blocks, 'block')}, {time}; they {verb} not settle "
            "every comparison"
        )
    span = f" ({forecast.low} to {forecast.high})" if forecast.low < forecast.high else ""
    return f"forecast: about {counted(forecast.blocks, 'block')}{span}, {time}"


def sampled_words(event: events.Sampled | events.NotSampled) -> str:
    """A line on a sampled cell, or the reason for missing samples."""
    if isinstance(event, events.NotSampled):
        return f"no samples for --why: {event.reason}"
    result = f"no samples: {event.reason}" if event.reason else "call stacks sampled"
    return f"why [{event.number}/{event.of}] {event.cell}: {result}"


def switched(event: events.Switched) -> str:
    """The present configuration of a live server, and the command that brought it about."""
    return f"the server has the {event.configuration} now: {event.command}"


def beside_words(
    event: events.Forecasted
    | events.Sampled
    | events.NotSampled
    | events.Switched
    | events.Unchanged
    | events.GeneratorLost
    | events.Repeated,
) -> str:
    """Actions and faults outside the trials."""
    if isinstance(event, events.Forecasted):
        return forecast_words(event.forecast)
    if isinstance(event, events.Unchanged):
        return f"warning: {event.message}"
    if isinstance(event, events.GeneratorLost):
        return lost_words(event.host, event.reason)
    if isinstance(event, events.Repeated):
        return f"{event.cell}: one side did not get its processors: measured again"
    return switched(event) if isinstance(event, events.Switched) else sampled_words(event)


def speed(pace: events.Pace) -> str:
    """One second of a run in short."""
    parts = [f"{pace.connections_per_s:,.0f} connections/s", f"{pace.in_flight:,} in flight"]
    if pace.requests_per_s > 1.05 * pace.connections_per_s:
        parts.insert(1, f"{pace.requests_per_s:,.0f} requests/s")
    if pace.service_p50_ms is not None and pace.service_p99_ms is not None:
        parts.append(f"p50 {pace.service_p50_ms:.1f} p99 {pace.service_p99_ms:.1f} ms")
    if pace.failed:
        parts.append(f"{pace.failed:,} failed")
    return ", ".join(parts)


def outcome(trial: Trial) -> str:
    """A trial's result in short."""
    if trial.reason is not None:
        return f"{trial.status}: {trial.reason.class_}: {trial.reason.message}"
    for benchmark in trial.benchmarks.values():
        return f"{benchmark.rate:,.0f} operations/s"
    run = trial.runs.get("capacity") or next(iter(trial.runs.values()), None)
    if run is None:
        return trial.status
    # On a very busy machine a measurement can be over before the generator gets the processor.
    if run.record.seconds <= 0:
        return "nothing was measured: the machine was too busy"
    completed = run.record.outcomes.completed
    if not completed:
        return "no connection was completed"
    return f"{completed / run.record.seconds:,.0f} connections/s"
