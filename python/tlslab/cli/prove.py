"""`tlslab prove`: is a configuration better than the present one?"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tlslab import report
from tlslab.advice.policy import policies_named
from tlslab.cli import dry
from tlslab.cli.allow import read_allow_file
from tlslab.cli.console import conclude, err, say, show
from tlslab.cli.ending import EXIT_INTERRUPTED
from tlslab.cli.options import (
    Allow,
    AsJson,
    Authorities,
    Insecure,
    Status,
    Version,
    as_seconds,
    as_share,
    as_url,
)
from tlslab.cli.parts import provide
from tlslab.cli.progress import watch
from tlslab.cli.run import Budget, Dry, Out, Seed, ServerMetrics, Yes
from tlslab.experiment import file_kind
from tlslab.experiment.proof import proof_experiment
from tlslab.experiment.short import asked_for, shortened
from tlslab.experiment.workload import required_status
from tlslab.lab.candidate import candidate_of, with_key
from tlslab.lab.proof.discover import CLIENT, client_named
from tlslab.lab.proof.reading import (
    Reading,
    check_keys,
    read_configuration,
    with_default_certificate,
)
from tlslab.lab.proof.switch import command_of
from tlslab.lab.run import Request, Result, execute
from tlslab.model.configuration import BASELINE, Configuration
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.proof import ProofSettings, ProofVerdict
from tlslab.model.proof_words import VERDICTS
from tlslab.store import to_json
from tlslab.targets.external import READY_S, SETTLE_S

EXIT_CODES: dict[ProofVerdict, int] = {
    "deploy": 0,
    "no_difference": 0,
    "do_not": 1,
    "cannot_tell": 4,
}


class Server(StrEnum):
    """Whose configuration files are read."""

    nginx = "nginx"


def command(
    server: Annotated[
        Server | None, typer.Option("--for", help="Whose configuration files they are.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The present configuration: a file with ssl_* directives, a server block, or what "
            "nginx -T shows. Only its TLS is taken.",
        ),
    ] = None,
    candidate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR",
            help="The configuration to prove: a file of the same form, or a run folder for what "
            "`tlslab recommend` chooses. By default what the policies recommend.",
        ),
    ] = None,
    server_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which server of the files, where they have several."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="The key of the baseline's certificate, where its file cannot be read: rsa-2048; "
            "repeatable.",
        ),
    ] = None,
    keep_certificate: Annotated[
        bool,
        typer.Option(
            "--keep-certificate",
            help="The default candidate keeps the certificates; otherwise it has one with an ECDSA "
            "P-256 key beside an RSA one.",
        ),
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only these policies choose the candidate; repeatable."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A live server instead of files, with both commands."),
    ] = None,
    apply_: Annotated[
        str | None,
        typer.Option("--apply", metavar="COMMAND", help="Gives the live server the candidate."),
    ] = None,
    revert: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Gives it its present configuration back. Run in any case, also after kill -9; "
            "may be run twice.",
        ),
    ] = None,
    settle: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="How long the server is left alone after a command."
        ),
    ] = SETTLE_S,
    ready: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="What the server may take after that."),
    ] = READY_S,
    allow: Allow = None,
    ca: Authorities = None,
    insecure: Insecure = False,
    server_metrics: ServerMetrics = None,
    expect_status: Status = None,
    client: Annotated[
        str, typer.Option(metavar="NAME", help="The known client whose connections are measured.")
    ] = CLIENT,
    returning: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="How many connections are those of clients that return."
        ),
    ] = "50%",
    margin: Annotated[
        str, typer.Option(metavar="PERCENT", help="The largest difference that counts as none.")
    ] = "5%",
    may_lose: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A known client that may stay away; repeatable."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short measurements: large differences in a minute.")
    ] = False,
    blocks: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=1000, help="Exactly N passes over both."),
    ] = None,
    budget: Budget = None,
    dry_run: Dry = False,
    out_dir: Out = None,
    seed: Seed = None,
    yes: Yes = False,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Prove a configuration against the present one, on the same server, in turns.

    Full and resumed handshakes and requests, what changes for known clients, and a verdict. Ends
    with 0 for "deploy" and "no difference", 1 for "do not", 4 where the run cannot tell.
    """
    files = Files(server, baseline, candidate, server_name, tuple(key or ()), keep_certificate)
    _check_policy(policy or (), url, candidate)
    settings = ProofSettings(
        server=_target(url, files),
        client=client_named(client).name,
        margin=as_share(margin, "--margin"),
        returning=as_share(returning, "--returning"),
        configurations=() if url else _configurations(files, policy or ()),
        may_lose=tuple(client_named(name).name for name in may_lose or ()),
        apply=_command(apply_, "--apply", url),
        revert=_command(revert, "--revert", url),
    )
    request = Request(
        experiment=_experiment(settings, quick, blocks, budget, expect_status),
        targets=(settings.server,),
        command=("tlslab", *sys.argv[1:]),
        out=out_dir,
        allow=(*(allow or ()), *read_allow_file()),
        seed=seed,
        authority=ca,
        insecure=insecure,
        server_metrics=server_metrics,
        ready_s=ready,
        settle_s=settle,
    )
    request.trust()
    for each in settings.configurations:
        _announce(each)
    if dry_run:
        raise typer.Exit(dry.show(request, as_json))
    provide(request, yes)
    with watch() as observer:
        result = execute(request, observer)
    if as_json:
        typer.echo(json.dumps(to_json(result.summary), allow_nan=False))
    else:
        show(report.render_text(result.summary))
    raise typer.Exit(_conclude(result, as_json))


@dataclass(frozen=True)
class Files:
    """The options that name configuration files, and say how they are read."""

    server: Server | None
    baseline: Path | None
    candidate: Path | None
    server_name: str | None
    keys: tuple[str, ...]
    keep_certificate: bool

    @property
    def given(self) -> bool:
        """Whether there are any."""
        return self != Files(None, None, None, None, (), False)


def _target(url: str | None, files: Files) -> str:
    """The managed target, or the live server's URL. Raises UsageError."""
    if url is None:
        if files.server is None or files.baseline is None:
            raise UsageError(
                "what is the present configuration?",
                "give --for nginx --baseline FILE, or a live server: "
                "--url URL --apply COMMAND --revert COMMAND",
            )
        return files.server.value
    if files.given:
        raise UsageError(
            "--url is a live server, whose configurations the two commands make",
            "leave out --for, --baseline, --candidate, --server-name, --key, --keep-certificate",
        )
    target = as_url(url)
    if "://" not in target:
        raise UsageError(f"--url {url}: not a URL", "write it like https://HOST[:PORT]/PATH")
    return target


def _check_policy(policy: Sequence[str], url: str | None, candidate: Path | None) -> None:
    """Refuses policies where the candidate is somebody else's choice. Raises UsageError."""
    if policy and (url is not None or (candidate is not None and not candidate.is_dir())):
        given = "--url" if url is not None else f"--candidate {candidate}"
        raise UsageError(
            f"--policy chooses a candidate, and {given} has one already",
            "leave out --policy; `tlslab grade --policy NAME` holds a server against a policy",
        )


def _command(text: str | None, option: str, url: str | None) -> str:
    """A command for a live server, as it was written. Raises UsageError."""
    if url is None and text is not None:
        raise UsageError(f"{option} goes with a live server", "give its --url as well")
    if url is not None:
        command_of(text or "", option)
    return text or ""


def _configurations(files: Files, policy: Sequence[str]) -> tuple[Configuration, Configuration]:
    """Baseline and candidate, from the files. Raises UsageError."""
    assert files.baseline is not None
    check_keys(files.keys)
    how = Reading("--baseline", files.server_name, files.keys)
    before = with_default_certificate(read_configuration(files.baseline, BASELINE, how), how)
    policies = policies_named(policy)
    given = files.candidate
    after = candidate_of(given, before, policies, Reading("--candidate", files.server_name))
    if given is None and not files.keep_certificate:
        after = with_key(after, before)
    return before, after


def _experiment(
    settings: ProofSettings,
    quick: bool,
    blocks: int | None,
    budget: str | None,
    expect_status: str | None,
) -> Experiment:
    experiment = proof_experiment(settings, quick)
    kind = file_kind(experiment)
    if blocks is not None and budget is not None:
        raise UsageError("--blocks and --budget exclude each other", "leave one out")
    if blocks is not None:
        experiment = kind.with_blocks(experiment, blocks)
    if budget is not None:
        budget_s = as_seconds(budget, "--budget")
        experiment = kind.with_stopping(experiment, None, budget_s)
    if expect_status is not None:
        status = required_status(expect_status)
        workload = replace(experiment.workload, expect_status=status)
        experiment = replace(experiment, workload=workload)
    return shortened(experiment) if asked_for() else experiment


def _announce(found: Configuration) -> None:
    """Where a configuration is from, what was made of it, and what was left out."""
    say(f"{found.name}: {found.source}")
    say(
        f"  taken: {', '.join(dict.fromkeys(line.split()[0] for line in found.lines)) or 'nothing'}"
    )
    for note in found.notes:
        say(f"  {note}")
    if found.ignored:
        say(f"  not taken: {', '.join(found.ignored)}")


def _conclude(result: Result, as_json: bool) -> int:
    """Says where the results are and what the verdict is; the exit code."""
    if as_json:
        for warning in report.warning_lines(result.summary):
            say(f"warning: {warning}")
    err.print(f"report: {result.folder / 'report.html'}", soft_wrap=True, markup=False)
    if result.interrupted:
        say(f"the rest: {report.resume_command(result.folder)}")
        return conclude("interrupted", EXIT_INTERRUPTED)
    proof = result.summary.proof
    assert proof is not None
    lacking = result.summary.answer is None or result.summary.answer.lacking is not None
    verdict: ProofVerdict = "cannot_tell" if lacking else proof.verdict
    return conclude(VERDICTS[verdict].lower(), EXIT_CODES[verdict])
