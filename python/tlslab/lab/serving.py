"""A fresh server of a deployment, for as long as it is needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tlslab.lab.deployments import Prepared
from tlslab.lab.engine import Engine
from tlslab.lab.trial import Bench
from tlslab.model.errors import CannotRunError, EngineError, StoreError
from tlslab.model.experiment import Experiment

# The server of a deployment could not be set up, or not be started.
SETUP_FAILED = "setup_failed"
START_FAILED = "start_failed"


class NotStarted(Exception):  # noqa: N818
    """A server that did not start, with its own words."""

    def __init__(self, words: str, remedy: str) -> None:
        super().__init__(words)
        self.words = words
        self.remedy = remedy


@contextmanager
def serving(engine: Engine, experiment: Experiment, prepared: Prepared) -> Iterator[Bench]:
    """A bench with a fresh server, which is stopped whatever happens. Raises NotStarted."""
    bench = Bench(engine, experiment.workload, prepared.aim, None)
    bench = replace(bench, settings=experiment.settings)
    if prepared.start is None:
        yield bench
        return
    try:
        running = prepared.start()
    except (EngineError, StoreError):
        raise
    except CannotRunError as error:
        raise NotStarted(error.message, error.remedy) from None
    try:
        aim = replace(prepared.aim, url=running.url)
        yield replace(bench, aim=aim, running=running)
    finally:
        running.stop()
