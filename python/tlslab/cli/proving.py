"""The work of `tlslab prove`: from its files to the configurations, the run, and the verdict."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tlslab.advice.policy import policies_named
from tlslab.cli import dry
from tlslab.cli.carrying_out import carry_out, conclude_run, request_of
from tlslab.cli.console import say
from tlslab.cli.options import Output
from tlslab.cli.proof_options import Options
from tlslab.cli.values import as_seconds, as_share, as_url
from tlslab.cli.watching import Watching
from tlslab.domain.configuration import BASELINE, Configuration
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Summary
from tlslab.domain.proof import ProofVerdict
from tlslab.domain.proof_settings import ProofSettings
from tlslab.domain.wording import counted
from tlslab.experiment import file_kind
from tlslab.experiment.proof import proof_experiment
from tlslab.experiment.short import asked_for, shortened
from tlslab.experiment.workload import required_status
from tlslab.lab.proof.discover import client_named
from tlslab.lab.proof.reading import (
    ReadingOptions,
    candidate_of,
    check_keys,
    read_configuration,
    syntax_of,
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


def prove(given: Options, watching: Watching, output: Output, yes: bool) -> int:
    """Runs a proof, or shows its plan; returns the exit code. Raises UsageError, CannotRunError."""
    wanted = settings(given)
    request = request_of(given, experiment_of(given, wanted), (wanted.server,))
    for configuration in wanted.configurations:
        _announce(configuration, output.details or given.dry_run)
    if given.dry_run:
        return dry.show(request, output)
    return conclude_run(carry_out(request, yes, output, watching), output, _ending)


def settings(given: Options) -> ProofSettings:
    """The settings of the proof, from the options. Raises UsageError."""
    url = given.url
    _check_policy(given.policy or (), url, given.candidate)
    return ProofSettings(
        server=_target(given),
        client=client_named(given.client).name,
        margin=as_share(given.margin, "--margin"),
        returning=as_share(given.returning, "--returning"),
        configurations=() if url else _configurations(given),
        may_lose=tuple(client_named(name).name for name in given.may_lose or ()),
        apply=_live_command(given.apply_, "--apply", url),
        revert=_live_command(given.revert, "--revert", url),
    )


def _target(given: Options) -> str:
    """The managed target, or the live server's URL. Raises UsageError."""
    url = given.url
    if url is None:
        if given.server is None or given.baseline is None:
            raise UsageError(
                "the present configuration is missing",
                "give --for SERVER --baseline FILE, or a live server: "
                "--url URL --apply COMMAND --revert COMMAND",
            )
        return given.server.value
    files = (given.server, given.baseline, given.candidate, given.server_name, given.key)
    if given.keep_certificate or any(value is not None for value in files):
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


def _configurations(given: Options) -> tuple[Configuration, Configuration]:
    """Baseline and candidate, from the files. Raises UsageError."""
    assert given.baseline is not None
    keys = tuple(given.key or ())
    check_keys(keys)
    syntax = syntax_of(_target(given))
    how = ReadingOptions("--baseline", syntax, given.server_name, keys)
    before = with_default_certificate(read_configuration(given.baseline, BASELINE, how), how)
    policies = policies_named(given.policy or ())
    after = candidate_of(
        given.candidate, before, policies, ReadingOptions("--candidate", syntax, given.server_name)
    )
    if given.candidate is None and not given.keep_certificate:
        after = with_key(after, before)
    return syntax.with_text(before), syntax.with_text(after)


def experiment_of(given: Options, wanted: ProofSettings) -> Experiment:
    """The experiment, from the options. Raises UsageError."""
    experiment = proof_experiment(wanted, given.quick)
    kind = file_kind(experiment)
    if given.blocks is not None and given.budget is not None:
        raise UsageError("--blocks and --budget are both given", "leave one of them out")
    if given.blocks is not None:
        experiment = kind.with_blocks(experiment, given.blocks)
    if given.budget is not None:
        experiment = kind.with_stopping(experiment, None, as_seconds(given.budget, "--budget"))
    if given.expect_status is not None:
        status = required_status(given.expect_status)
        workload = replace(experiment.workload, expect_status=status)
        experiment = replace(experiment, workload=workload)
    return shortened(experiment, kind) if asked_for() else experiment


def _announce(found: Configuration, details: bool) -> None:
    """Prints the origin of a configuration; in detail its directives, notes, and parts left out."""
    if found.unread:
        say(
            f"warning: the {found.name} may lack settings of TLS, as these were not understood: "
            f"{', '.join(found.unread)}"
        )
    if not details:
        left_out = f"; not taken: {counted(len(found.ignored), 'part')}" if found.ignored else ""
        say(f"{found.name}: {found.source}{left_out}")
        return
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
