"""The live server of a proof: the questions to it, and its switch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from tlslab.domain import events
from tlslab.domain.configuration import BASELINE, CANDIDATE
from tlslab.domain.errors import EngineError, UsageError
from tlslab.domain.profile import Profile
from tlslab.domain.proof import Found
from tlslab.domain.proof_settings import settings_of
from tlslab.lab.deployments import Prepared, Servers
from tlslab.lab.generators import GeneratorPool
from tlslab.lab.proof.discover import profile_of
from tlslab.lab.proof.switch import Switch, command_of
from tlslab.lab.request import Request
from tlslab.lab.specs import Aim, preflight_spec


class Live:
    """A server that two commands switch."""

    def __init__(self, engine: GeneratorPool, request: Request, observer: events.Observer) -> None:
        settings = settings_of(request.experiment)
        if not settings.apply or not settings.revert:
            raise UsageError(
                "a live server needs both commands", "give --apply COMMAND and --revert COMMAND"
            )
        self._engine = engine
        self._http = request.experiment.workload.http
        self._aim: Aim | None = None
        self._found: dict[str, Found] = {}
        self.switch = Switch(
            apply=command_of(settings.apply, "--apply"),
            back=command_of(settings.revert, "--revert"),
            wrong=self._wrong,
            observer=observer,
            ready_s=request.ready_s,
            settle_s=request.settle_s,
        )

    def switched(self, servers: Servers) -> Servers:
        """The deployments, each with a switch to its configuration."""
        prepared = {
            deployment: replace(
                each, switch=partial(self.switch.to, str(deployment.levels.get("configuration")))
            )
            for deployment, each in servers.prepared.items()
        }
        self._aim = next(iter(prepared.values())).aim
        return replace(servers, prepared=prepared)

    def known(self, found: Found) -> None:
        """Keeps the observed behaviour of a configuration; the server must then show it again."""
        self._found[found.name] = found

    def _wrong(self, name: str) -> str | None:
        """The difference from the server's earlier behaviour with this configuration, if any."""
        assert self._aim is not None
        found = self._found.get(name)
        profile = Profile() if found is None else profile_of(found)
        try:
            self._engine.preflight(preflight_spec(self._aim, profile, self._http))
        except EngineError as error:
            return f"it does not answer as it did at first: {error.message}"
        return None


def equal_words(found: Sequence[Found]) -> str | None:
    """A warning for a live server that behaves the same with both configurations."""
    first, *others = (
        replace(each, name="", offered=replace(each.offered, unanswered=())) for each in found
    )
    if any(each != first for each in others):
        return None
    return (
        f"the server offers and does the same with {BASELINE} and {CANDIDATE}: did --apply change "
        f"anything, and had the server read it? If it needs longer, give --settle SECONDS"
    )


@contextmanager
def serving(prepared: Prepared) -> Iterator[Aim]:
    """The address of a deployment, served for the duration of the questions."""
    if prepared.start is None:
        if prepared.switch is not None:
            prepared.switch()
        yield prepared.aim
        return
    running = prepared.start()
    try:
        yield replace(prepared.aim, url=running.url)
    finally:
        running.stop()
