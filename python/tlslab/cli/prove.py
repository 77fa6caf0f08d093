"""`tlslab prove`: is a configuration better than the present one?"""

import json
import sys
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
from tlslab.cli.options import AsJson, Version, as_seconds, as_share
from tlslab.cli.parts import provide
from tlslab.cli.progress import watch
from tlslab.cli.run import Budget, Dry, Out, Seed, Yes
from tlslab.experiment import file_kind
from tlslab.experiment.proof import proof_experiment
from tlslab.experiment.short import asked_for, shortened
from tlslab.lab.proof.candidate import candidate_of, with_key
from tlslab.lab.proof.discover import CLIENT, client_named
from tlslab.lab.proof.reading import (
    Reading,
    check_keys,
    read_configuration,
    with_default_certificate,
)
from tlslab.lab.run import Request, Result, execute
from tlslab.model.configuration import BASELINE, Configuration
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.proof import ProofSettings, ProofVerdict
from tlslab.model.proof_words import VERDICTS
from tlslab.store import to_json

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
    server: Annotated[Server, typer.Option("--for", help="Whose configuration it is.")],
    baseline: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The present configuration: a file with ssl_* directives, a server block, or what "
            "nginx -T shows. Only its TLS is taken.",
        ),
    ],
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
            "P-256 key beside them.",
        ),
    ] = False,
    client: Annotated[
        str, typer.Option(metavar="NAME", help="The known client whose connections are measured.")
    ] = CLIENT,
    margin: Annotated[
        str, typer.Option(metavar="PERCENT", help="The largest difference that counts as none.")
    ] = "5%",
    returning: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="How many connections are those of clients that return."
        ),
    ] = "50%",
    may_lose: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A known client that may stay away; repeatable."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only these policies choose the candidate; repeatable."),
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
    keys = tuple(key or ())
    check_keys(keys)
    how = Reading("--baseline", server_name, keys)
    before = with_default_certificate(read_configuration(baseline, BASELINE, how), how)
    policies = policies_named(policy or ())
    after = candidate_of(candidate, before, policies, Reading("--candidate", server_name))
    if candidate is None and not keep_certificate:
        after = with_key(after, before)
    settings = ProofSettings(
        server=server.value,
        client=client_named(client).name,
        margin=as_share(margin, "--margin"),
        returning=as_share(returning, "--returning"),
        configurations=(before, after),
        may_lose=tuple(client_named(name).name for name in may_lose or ()),
    )
    experiment = _experiment(settings, quick, blocks, budget)
    request = Request(
        experiment=experiment,
        targets=(server.value,),
        command=("tlslab", *sys.argv[1:]),
        out=out_dir,
        allow=read_allow_file(),
        seed=seed,
    )
    if not as_json:
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
    raise typer.Exit(_conclude(result))


def _experiment(
    settings: ProofSettings, quick: bool, blocks: int | None, budget: str | None
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


def _conclude(result: Result) -> int:
    """Says where the results are and what the verdict is; the exit code."""
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
