"""Options that show a run in progress: as Prometheus metrics, and as a page."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tlslab.cli.console import say
from tlslab.cli.options import PRINTED, option, options
from tlslab.domain.command_line import LOOPBACK, METRICS_OPTION, PAGE_OPTION, Address, parse_address
from tlslab.domain.errors import TlslabError

if TYPE_CHECKING:
    from tlslab.report.live.state import State

# A page without an address: any free port of loopback.
ANYWHERE = Address(LOOPBACK, 0)


def _metrics_address(text: str) -> Address:
    return parse_address(text, METRICS_OPTION)


def _page_address(text: str) -> Address:
    return parse_address(text, PAGE_OPTION)


@options
class Watching:
    """The addresses of metrics and page; None for one that was not requested."""

    metrics: Address | None = option(
        "Serve Prometheus metrics of the run at this address: 127.0.0.1:9464. Other hosts "
        "need an address of this machine that they can reach.",
        METRICS_OPTION,
        metavar="HOST:PORT",
        panel=PRINTED,
        parser=_metrics_address,
    )
    page: Address | None = option(
        "Serve a page that shows the run in progress, and print its URL to standard error; on "
        "a free port of loopback by default.",
        PAGE_OPTION,
        metavar="[=HOST:PORT]",
        panel=PRINTED,
        parser=_page_address,
    )

    @classmethod
    def of(cls, metrics: str | None, page: str | None) -> "Watching":
        """From the options' values. Raises UsageError."""
        return cls(
            metrics=None if metrics is None else _metrics_address(metrics),
            page=None if page is None else _page_address(page),
        )

    @property
    def is_wanted(self) -> bool:
        """Whether metrics or page were requested."""
        return self != Watching()


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """The command line with an address for a bare `--live`: the word after it is not its value."""
    return [f"{word}={ANYWHERE.shown}" if word == PAGE_OPTION else word for word in arguments]


@contextmanager
def watched(experiment: str, watching: Watching) -> "Iterator[State]":
    """The state of a run, served until the context ends. Raises UsageError."""
    from tlslab.report.live.state import State

    state = State(experiment)
    with ExitStack() as stack:
        if watching.metrics is not None:
            from tlslab.report.live.metrics import serve_metrics

            address = stack.enter_context(serve_metrics(state, watching.metrics, say))
            say(f"metrics: http://{address.shown}/metrics")
        if watching.page is not None:
            from tlslab.report.live.page import serve_page

            say(f"live page: {stack.enter_context(serve_page(state, watching.page))}")
        try:
            yield state
        except KeyboardInterrupt:
            state.finish("interrupted")
            raise
        except TlslabError as error:
            state.finish(f"it could not be done: {error.message}")
            raise
