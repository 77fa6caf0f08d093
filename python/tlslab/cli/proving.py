"""The work of `tlslab prove`: from its files to the configurations, the run, and the verdict."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tlslab.advice.policy import policies_named
from tlslab.cli import dry
from tlslab.cli.carrying_out import carry_out, conclude_run
from tlslab.cli.console import say
from tlslab.cli.proof_options import Server
from tlslab.cli.values import as_seconds, as_share, as_url
from tlslab.cli.watching import Watching
from tlslab.domain.configuration import BASELINE, Configuration
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Summary
from tlslab.domain.proof import ProofVerdict
from tlslab.domain.proof_settings import ProofSettings, settings_of
from tlslab.experiment import file_kind
from tlslab.experiment.proof import proof_experiment
from tlslab.experiment.short import asked_for, shortened
from tlslab.experiment.workload import required_status
from tlslab.lab.experiment_run import Request
from tlslab.lab.proof.discover import client_named
from tlslab.lab.proof.reading import (
    Reading,
    candidate_of,
    check_keys,
    read_configuration,
    with_default_certificate,
    with_key,
)
from tlslab.lab.proof.switch import command_of
from tlslab.words.proof import VERDICTS, verdict_words

EXIT_CODES: dict[ProofVerdict, int] = {
    "deploy": 0,
    "no_difference": 0,
    "do_not": 1,
    "cannot_tell": 4,
}


def prove(request: Request, watching: Watching, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Runs a proof, or shows its plan; returns the exit code. Raises UsageError, CannotRunError."""
    request.trust()
    for each in settings_of(request.experiment).configurations:
        _announce(each)
    if dry_run:
        return dry.show(request, as_json)
    result = carry_out(request, yes, as_json, watching)
    return conclude_run(result, as_json, _ending)


@dataclass(frozen=True)
class Files:
    """The options that name configuration files, and determine how they are read."""

    server: Server | None
    baseline: Path | None
    candidate: Path | None
    server_name: str | None
    keys: Sequence[str]
    keep_certificate: bool

    @property
    def given(self) -> bool:
        """Whether any of these options is given."""
        return self != Files(None, None, None, None, (), False)


@dataclass(frozen=True)
class LiveServer:
    """The options of a live server: its URL, and the commands that switch it."""

    url: str | None
    apply: str | None
    revert: str | None


@dataclass(frozen=True)
class Terms:
    """The options that affect the verdict: the client, percentages, clients to lose."""

    client: str
    margin: str
    returning: str
    may_lose: Sequence[str]


def settings(
    files: Files, live_server: LiveServer, policy: Sequence[str], terms: Terms
) -> ProofSettings:
    """The settings of the proof, from the options. Raises UsageError."""
    url = live_server.url
    _check_policy(policy, url, files.candidate)
    return ProofSettings(
        server=_target(url, files),
        client=client_named(terms.client).name,
        margin=as_share(terms.margin, "--margin"),
        returning=as_share(terms.returning, "--returning"),
        configurations=() if url else _configurations(files, policy),
        may_lose=tuple(client_named(name).name for name in terms.may_lose),
        apply=_live_command(live_server.apply, "--apply", url),
        revert=_live_command(live_server.revert, "--revert", url),
    )


def _target(url: str | None, files: Files) -> str:
    """The managed target, or the live server's URL. Raises UsageError."""
    if url is None:
        if files.server is None or files.baseline is None:
            raise UsageError(
                "the present configuration is missing",
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
    """Refuses policies if no policy chooses the candidate. Raises UsageError."""
    if policy and (url is not None or (candidate is not None and not os.path.isdir(candidate))):
        given = "--url" if url is not None else f"--candidate {candidate}"
        raise UsageError(
            f"--policy chooses a candidate, and {given} has one already",
            "leave out --policy; `tlslab grade --policy NAME` holds a server against a policy",
        )


def _live_command(text: str | None, option: str, url: str | None) -> str:
    """A command for a live server, as written; empty without one. Raises UsageError."""
    if url is None and text is not None:
        raise UsageError(f"{option} needs a live server", "give its --url as well")
    if url is not None and text is None:
        raise UsageError(
            f"{option} is missing", "a live server needs --apply COMMAND and --revert COMMAND"
        )
    if text is not None:
        command_of(text, option)
    return text or ""


def _configurations(files: Files, policy: Sequence[str]) -> tuple[Configuration, Configuration]:
    """Baseline and candidate, from the files. Raises UsageError."""
    assert files.baseline is not None
    check_keys(files.keys)
    how = Reading("--baseline", files.server_name, tuple(files.keys))
    before = with_default_certificate(read_configuration(files.baseline, BASELINE, how), how)
    policies = policies_named(policy)
    given = files.candidate
    after = candidate_of(given, before, policies, Reading("--candidate", files.server_name))
    if given is None and not files.keep_certificate:
        after = with_key(after, before)
    return before, after


def experiment_of(
    settings: ProofSettings,
    quick: bool,
    blocks: int | None,
    budget: str | None,
    expect_status: str | None,
) -> Experiment:
    """The experiment, from the options. Raises UsageError."""
    experiment = proof_experiment(settings, quick)
    kind = file_kind(experiment)
    if blocks is not None and budget is not None:
        raise UsageError("--blocks and --budget are both given", "leave one of them out")
    if blocks is not None:
        experiment = kind.with_blocks(experiment, blocks)
    if budget is not None:
        budget_s = as_seconds(budget, "--budget")
        experiment = kind.with_stopping(experiment, None, budget_s)
    if expect_status is not None:
        status = required_status(expect_status)
        workload = replace(experiment.workload, expect_status=status)
        experiment = replace(experiment, workload=workload)
    return shortened(experiment, kind) if asked_for() else experiment


def _announce(found: Configuration) -> None:
    """Prints the origin of a configuration, its notes, and the parts left out."""
    say(f"{found.name}: {found.source}")
    say(
        f"  taken: {', '.join(dict.fromkeys(line.split()[0] for line in found.lines)) or 'nothing'}"
    )
    for note in found.notes:
        say(f"  {note}")
    if found.ignored:
        say(f"  not taken: {', '.join(found.ignored)}")


def _ending(summary: Summary) -> tuple[str, int]:
    """The verdict in words and the exit code.

    Without an answer, the one for a run that cannot tell.
    """
    proof = summary.proof
    assert proof is not None
    if summary.answer is None or summary.answer.lacking is not None:
        return VERDICTS["cannot_tell"].lower(), EXIT_CODES["cannot_tell"]
    return verdict_words(proof).lower(), EXIT_CODES[proof.verdict]
