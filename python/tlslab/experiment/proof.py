"""The kind `proof`: [workload], and [proof] with the configurations to compare."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tlslab.domain.configuration import BASELINE, CANDIDATE, Configuration, ServedCertificate
from tlslab.domain.experiment import PROOF, Experiment, Factor
from tlslab.domain.factors import FACTORS, FactorRow, Rule
from tlslab.domain.proof_settings import NEW, RETURNING, ProofSettings, settings_of
from tlslab.domain.stopping import Stopping
from tlslab.domain.workload import KeepAlive, Window, Workload
from tlslab.experiment.matrix import MatrixFile, read_stopping, write_stopping
from tlslab.experiment.workload import read_workload, write_workload
from tlslab.toml_table import Table, toml

_FACTORS = {
    "configuration": FACTORS["configuration"],
    "clients": FactorRow("clients", Rule((NEW, RETURNING))),
}

# The workload of every connection, and the load. Far fewer connections keep one processor of a
# server busy.
DOCUMENT_BYTES = 4096
CONNECTIONS = 16
WORKLOAD = Workload(
    document_bytes=DOCUMENT_BYTES,
    connections=CONNECTIONS,
    requests_per_connection=1,
    capacity=Window(300, 1500),
    keep_alive=KeepAlive(Window(200, 800), CONNECTIONS),
)
QUICK = replace(
    WORKLOAD, capacity=Window(150, 500), keep_alive=KeepAlive(Window(100, 300), CONNECTIONS)
)

# The largest number of blocks. They exclude a difference of 5 % if the ratios of single blocks have
# a noise of 7 %; at 3 %, the noise of processor time on a quiet machine, about a dozen suffice.
BLOCKS = 60
QUICK_BLOCKS = 6


def proof_experiment(settings: ProofSettings, quick: bool = False) -> Experiment:
    """The experiment that compares two configurations."""
    return Experiment(
        name="prove",
        title="Should the candidate take the place of the baseline?",
        kind=PROOF,
        factors=(
            Factor("configuration", (BASELINE, CANDIDATE)),
            Factor("clients", (NEW, RETURNING)),
        ),
        baseline={"configuration": BASELINE},
        workload=QUICK if quick else WORKLOAD,
        blocks=QUICK_BLOCKS if quick else BLOCKS,
        settings=settings,
        stopping=None if quick else Stopping(settings.margin, answer="ranking", pilot=0),
    )


class ProofFile(MatrixFile):
    """Two configurations of one server, side by side."""

    tables = ("workload", "proof", "stopping")
    factors = _FACTORS
    always_vary = ("configuration", "clients")

    def server(self, experiment: Experiment) -> str | None:
        """The server that has both configurations."""
        return settings_of(experiment).server

    def commands(self, experiment: Experiment) -> tuple[str, ...]:
        """The commands that switch a live server."""
        settings = settings_of(experiment)
        return tuple(filter(None, (settings.apply, settings.revert)))

    def read(self, root: Table, changes: Table) -> Mapping[str, Any]:
        """The workload, the rule that ends the run, and the configurations."""
        return {
            "workload": read_workload(root, changes, windows=False),
            "stopping": read_stopping(changes),
            "settings": _settings(root.table("proof")),
        }

    def write(self, experiment: Experiment) -> list[str]:
        """The tables [workload], [stopping] and [proof]."""
        lines = write_workload(experiment.workload) + write_stopping(experiment.stopping)
        return [*lines, *_written(settings_of(experiment))]


def _settings(table: Table) -> ProofSettings:
    table.only(
        "server", "client", "margin", "returning", "may_lose", "apply", "revert", "configuration"
    )

    def text(key: str) -> str:
        return table.text(key) if key in table else ""

    return ProofSettings(
        server=text("server"),
        client=table.text("client"),
        margin=table.share("margin"),
        returning=table.share("returning"),
        configurations=tuple(map(_configuration, table.tables("configuration"))),
        may_lose=_strings(table, "may_lose"),
        apply=text("apply"),
        revert=text("revert"),
    )


def _strings(table: Table, key: str) -> tuple[str, ...]:
    return table.strings(key) if table.data.get(key) else ()


def _configuration(table: Table) -> Configuration:
    table.only(
        "name", "source", "lines", "http2", "notes", "ignored", "unread", "text", "certificate"
    )
    return Configuration(
        name=table.text("name"),
        source=table.text("source"),
        lines=_strings(table, "lines"),
        certificates=tuple(map(_certificate, table.tables("certificate"))),
        http2=table.truth("http2"),
        notes=_strings(table, "notes"),
        ignored=_strings(table, "ignored"),
        unread=_strings(table, "unread"),
        text=_strings(table, "text"),
    )


def _certificate(table: Table) -> ServedCertificate:
    table.only("key", "certificate", "private_key")
    if "certificate" not in table:
        return ServedCertificate(table.text("key"))
    return ServedCertificate(
        table.text("key"), table.text("certificate"), table.text("private_key")
    )


def _written(settings: ProofSettings) -> Iterator[str]:
    yield from ("", "[proof]", f"client = {toml(settings.client)}")
    yield f"margin = {settings.margin}"
    yield f"returning = {settings.returning}"
    for key in ("server", "apply", "revert"):
        if value := getattr(settings, key):
            yield f"{key} = {toml(value)}"
    if settings.may_lose:
        yield f"may_lose = {toml(settings.may_lose)}"
    for each in settings.configurations:
        yield from ("", "[[proof.configuration]]", f"name = {toml(each.name)}")
        yield f"source = {toml(each.source)}"
        yield f"http2 = {toml(each.http2)}"
        for key in ("lines", "notes", "ignored", "unread", "text"):
            if values := getattr(each, key):
                yield f"{key} = {toml(values)}"
        for served in each.certificates:
            yield from ("", "[[proof.configuration.certificate]]", f"key = {toml(served.key)}")
            if served.certificate:
                yield f"certificate = {toml(served.certificate)}"
                yield f"private_key = {toml(served.private_key)}"
