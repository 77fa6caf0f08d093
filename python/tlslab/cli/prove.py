"""`tlslab prove`: is a configuration better than the present one?"""

import sys

import typer

from tlslab.cli.allow import read_allow_file
from tlslab.cli.options import (
    Allow,
    AsJson,
    Authorities,
    Budget,
    Dry,
    Insecure,
    Out,
    Seed,
    ServerMetrics,
    Status,
    Version,
    Yes,
)
from tlslab.cli.proof_options import (
    CLIENT,
    Apply,
    Baseline,
    Blocks,
    Candidate,
    Client,
    KeepCertificate,
    Keys,
    LiveUrl,
    Margin,
    MayLose,
    Policies,
    Quick,
    Ready,
    Returning,
    Revert,
    ServerName,
    ServerOption,
    Settle,
)
from tlslab.cli.watching import LivePage, Metrics, Watching
from tlslab.domain.command_line import READY_S, SETTLE_S


def command(
    server: ServerOption = None,
    baseline: Baseline = None,
    candidate: Candidate = None,
    server_name: ServerName = None,
    key: Keys = None,
    keep_certificate: KeepCertificate = False,
    policy: Policies = None,
    url: LiveUrl = None,
    apply_: Apply = None,
    revert: Revert = None,
    settle: Settle = SETTLE_S,
    ready: Ready = READY_S,
    allow: Allow = None,
    ca: Authorities = None,
    insecure: Insecure = False,
    server_metrics: ServerMetrics = None,
    expect_status: Status = None,
    client: Client = CLIENT,
    returning: Returning = "50%",
    margin: Margin = "5%",
    may_lose: MayLose = None,
    quick: Quick = False,
    blocks: Blocks = None,
    budget: Budget = None,
    dry_run: Dry = False,
    out_dir: Out = None,
    seed: Seed = None,
    metrics: Metrics = None,
    live: LivePage = None,
    yes: Yes = False,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """Compare a configuration with the present one, on the same server, in turns.

    Measures full and resumed handshakes and requests, and finds what changes for known clients.
    Ends with 0 for "deploy" and "no difference", with 1 for "do not", with 4 for "cannot tell".
    """
    from tlslab.cli import proving
    from tlslab.lab.experiment_run import Request

    files = proving.Files(server, baseline, candidate, server_name, key or (), keep_certificate)
    live_server = proving.LiveServer(url, apply_, revert)
    terms = proving.Terms(client, margin, returning, may_lose or ())
    settings = proving.settings(files, live_server, policy or (), terms)
    request = Request(
        experiment=proving.experiment_of(settings, quick, blocks, budget, expect_status),
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
    raise typer.Exit(proving.prove(request, Watching.of(metrics, live), dry_run, yes, as_json))
