"""A fresh server of a deployment, for the duration of its use."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tlslab.domain.deployment import Deployment
from tlslab.domain.errors import CannotRunError, EngineError, StoreError
from tlslab.domain.plan import Cell
from tlslab.domain.trial import Reason
from tlslab.lab.deployments import Prepared, Servers
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.generators.pool import require_generator
from tlslab.lab.probing import Probed, probe_cells
from tlslab.lab.trial import Bench

# The reason class: the server of a deployment could not be set up or started.
SETUP_FAILED = "setup_failed"
START_FAILED = "start_failed"


class NoBenchError(Exception):
    """A visit whose trials have no server, and the reason to record for them."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


class Benches:
    """Benches, each with a fresh server, for the deployments of a run."""

    def __init__(self, engine: GeneratorPool, servers: Servers) -> None:
        self.engine = engine
        self.servers = servers
        self._probed: dict[Deployment | None, Probed] = {}

    @contextmanager
    def on(
        self, prepared: Prepared, deployment: Deployment | None, cells: Sequence[Cell]
    ) -> Iterator[Bench]:
        """A bench with a fresh server of a deployment, stopped whatever happens.

        `cells` are those of the plan. Raises NoBenchError for a server that fails if there are
        several deployments: only its own cells fail. Raises CannotRunError if there is one
        deployment, and NoGeneratorError if all generators were lost.
        """
        if reason := prepared.failure or prepared.bar:
            raise NoBenchError(Reason(SETUP_FAILED, reason))
        require_generator(self.engine)
        experiment = self.servers.experiment
        bench = Bench(
            self.engine,
            experiment.workload,
            prepared.aim,
            None,
            settings=experiment.settings,
            side=prepared.side,
        )
        if prepared.start is None:
            if prepared.switch is not None:
                prepared.switch()
            yield self._with_probe(bench, deployment, cells)
            return
        try:
            running = prepared.start()
        except (EngineError, StoreError):
            raise
        except CannotRunError as error:
            if len(self.servers.prepared) == 1:
                raise
            raise NoBenchError(Reason(START_FAILED, error.message)) from None
        try:
            aim = replace(prepared.aim, url=running.url)
            bench = replace(bench, aim=aim, running=running)
            yield self._with_probe(bench, deployment, cells)
        finally:
            running.stop()

    def _with_probe(
        self, bench: Bench, deployment: Deployment | None, cells: Sequence[Cell]
    ) -> Bench:
        """Probes a deployment's first server; its later servers are configured alike.

        The probe does not cover the obsolete protocols: the first connection shows their support.
        """
        if deployment is not None and deployment.obsolete:
            return bench
        if deployment not in self._probed:
            own = [cell for cell in cells if cell.deployment in (deployment, None)]
            found = probe_cells(bench.engine, bench.aim, own) if own else Probed()
            self._probed[deployment] = found
        return replace(bench, probed=self._probed[deployment])
