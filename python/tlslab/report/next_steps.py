"""What to do after a run: two commands that fit its result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text

from tlslab.domain.command_line import ONE_RUN, is_url, without_flags, without_options
from tlslab.domain.experiment import CAPACITY, COSTS, is_ranked
from tlslab.domain.finding import Summary
from tlslab.domain.wording import counted
from tlslab.report.commands import folded

# The most commands of a report.
MOST = 2

# The servers for which `tlslab recommend` writes a configuration, where a run measured another.
_USUAL = "nginx"


@dataclass(frozen=True)
class NextStep:
    """A command, and what it brings."""

    words: tuple[str, ...]
    brings: str


@dataclass(frozen=True)
class _Line:
    """A command after `next:`, with its use as the comment of a shell, if there is room for it."""

    step: NextStep
    number: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = "next: " if self.number == 0 else "      "
        *lines, last = folded(self.step.words, options.max_width, head)
        beside = f"{last}  # {self.step.brings}"
        text = "\n".join([*lines, beside if len(beside) <= options.max_width else last])
        yield Text(text, style="dim", no_wrap=True, overflow="ignore")


def foot(steps: Sequence[NextStep]) -> Group:
    """The last lines of a report: `next:`, and the commands."""
    return Group(Text(), *(_Line(step, number) for number, step in enumerate(steps)))


def next_steps(summary: Summary, place: Sequence[str]) -> tuple[NextStep, ...]:
    """At most two commands. `place`: the run folder, or the two of a comparison."""
    return tuple(_steps(summary, place))[:MOST]


def _steps(summary: Summary, place: Sequence[str]) -> Iterator[NextStep]:
    lacking = None if summary.answer is None else summary.answer.lacking
    compares = summary.environment.command[1:2] == ("compare",)
    verb = "compare" if compares else "report"
    if not compares and _misses_trials(summary):
        yield NextStep(("tlslab", "run", "--resume", *place), "the missing trials")
    elif lacking is not None and lacking.command:
        minutes = lacking.minutes
        about = "" if minutes is None else f", in about {counted(max(1, round(minutes)), 'minute')}"
        yield NextStep(lacking.command, f"enough{about}")
    elif compares:
        yield NextStep(("tlslab", "compare", *place, "--gate", "3%"), "a verdict for a job")
    elif lacking is not None:
        yield NextStep(_typed(summary), "once more, when the warnings are heeded")
    else:
        yield from _onward(summary, place)
    yield NextStep(("tlslab", verb, *place, "--details"), "all tables and warnings")
    yield NextStep(("tlslab", verb, *place, "--format", "markdown"), "for a pull request")


def _misses_trials(summary: Summary) -> bool:
    """Whether trials of the plan were not made."""
    codes = {note.code for cell in summary.cells for note in cell.reasons}
    return bool(codes & {"incomplete", "not_run"})


def _typed(summary: Summary) -> tuple[str, ...]:
    """The command of the run, without what is of this run alone."""
    typed = without_options(summary.environment.command, ONE_RUN)
    return tuple(without_flags(typed, ("--details", "--json")))


def _onward(summary: Summary, place: Sequence[str]) -> Iterator[NextStep]:
    """The command that puts an answer to use."""
    kind, factors = summary.experiment.kind, summary.experiment.factors
    command = _typed(summary)
    if kind == COSTS:
        yield NextStep(("tlslab", "plan", *place, "--new", "1000/s"), "processors for a load")
    elif summary.recommendation is not None:
        words = ("tlslab", "recommend", *place, "--for", _server(summary))
        yield NextStep(words, "the configuration")
    elif is_ranked(kind) and len(factors.get("server", ())) == 2:
        yield NextStep(("tlslab", "compare", *place), "the two servers")
    elif kind == CAPACITY and not summary.experiment.workload.get("objective"):
        objective = (*command, "--objective", "p99<50ms")
        yield NextStep(objective, "the load that meets a response time")
    elif "--quick" in command:
        yield NextStep(tuple(without_flags(command, ("--quick",))), "narrower intervals")


def _server(summary: Summary) -> str:
    """The server that a configuration is for: the measured one, if one can be written for it."""
    measured = summary.environment.target.name
    return _USUAL if is_url(measured) or measured.startswith("reference") else measured
