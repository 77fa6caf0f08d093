"""The request for a run, and its result."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tlslab.domain.command_line import READY_S, SETTLE_S, is_url
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Summary
from tlslab.lab.generators.joint_run import LostPolicy
from tlslab.servers.address import LOOPBACK
from tlslab.servers.external import Hook

# RFC 7468's form and OpenSSL's own, which contains the same certificate.
_BEGIN_LINES = ("-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----")


def whom_to_trust(authority: Path | None, insecure: bool) -> str:
    """`anyone`, `system`, or the authorities of a file in PEM. Raises UsageError."""
    if insecure:
        return "anyone"
    if authority is None:
        return "system"
    try:
        text = authority.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(
            f"--ca {authority}: {error.strerror}", "give a PEM file that is there and may be read"
        ) from None
    except UnicodeDecodeError:
        text = ""
    if not any(start in text for start in _BEGIN_LINES):
        raise UsageError(
            f"--ca {authority}: the file holds no certificate",
            "give a file in PEM, with -----BEGIN CERTIFICATE-----; "
            "`openssl x509 -inform der -in FILE` turns a DER file into one",
        )
    return text


@dataclass(frozen=True)
class Request:
    """The user's request; `targets` are managed targets' names, or URLs.

    `hook` configures the server before each cell; the server then has `ready_s` seconds to be
    ready. `settle_s`: the pause after a command that switches the live server of a proof. If the
    experiment has the factor `server`, its levels are the targets, and `targets` repeats them.
    `jdks`: Java installations in addition to those that benchmarks find. `server_metrics`: the URL
    of a node_exporter beside a server that the lab does not start. `why`: the server's call stacks
    are sampled after the measured trials. `generators`: the source of load, as
    `lab.generators.choose` reads it; `on_lost_host`: the effect of a lost host on a run. `proof`:
    the token by which a public server permits load without bounds. `listen`: the address of this
    machine on which the lab's own servers listen; None for loopback. `spare_versions`: the TLS
    versions for a server that has none of the experiment's. `sitting_s`: the time of this sitting
    in seconds; None if it goes on to the end of the plan.
    """

    experiment: Experiment
    targets: tuple[str, ...]
    command: tuple[str, ...]
    out: Path | None = None
    resume: Path | None = None
    allow: tuple[str, ...] = ()
    seed: int | None = None
    authority: Path | None = None
    insecure: bool = False
    hook: Hook | None = None
    ready_s: float = READY_S
    settle_s: float = SETTLE_S
    jdks: tuple[Path, ...] = ()
    server_metrics: str | None = None
    why: bool = False
    generators: str | None = None
    on_lost_host: LostPolicy = "fail"
    listen: str | None = None
    proof: str | None = None
    spare_versions: tuple[str, ...] = ()
    sitting_s: float | None = None

    @property
    def external(self) -> bool:
        """Whether the lab does not start the server itself."""
        return is_url(self.targets[0])

    @property
    def listens_on(self) -> str:
        """The address on which the lab's own servers listen."""
        return self.listen or LOOPBACK

    def trust(self) -> str:
        """The trusted authorities for a server that the lab did not start. Raises UsageError."""
        return whom_to_trust(self.authority, self.insecure)


# Why a run ended before all trials of its plan were made: by Ctrl-C or a signal, or because the
# time of its sitting was over.
Early = Literal["", "interrupted", "over"]


@dataclass(frozen=True)
class Result:
    """A run folder and its summary; `early`: why trials of the plan are missing, if they are."""

    folder: Path
    summary: Summary
    early: Early
