"""What `tlslab prove` does: from its files to the configurations, the run, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tlslab import report
from tlslab.advice.policy import policies_named
from tlslab.cli import dry
from tlslab.cli.carrying_out import carry_out
from tlslab.cli.console import conclude, err, say
from tlslab.cli.ending import EXIT_INTERRUPTED
from tlslab.cli.options import as_seconds, as_url
from tlslab.cli.proof_options import Server
from tlslab.cli.watching import Watching
from tlslab.experiment import file_kind
from tlslab.experiment.proof import proof_experiment
from tlslab.experiment.short import asked_for, shortened
from tlslab.experiment.workload import required_status
from tlslab.lab.candidate import candidate_of, with_key
from tlslab.lab.proof.reading import (
    Reading,
    check_keys,
    read_configuration,
    with_default_certificate,
)
from tlslab.lab.proof.switch import command_of
from tlslab.lab.run import Request, Result
from tlslab.model.configuration import BASELINE, Configuration
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.proof import ProofSettings, ProofVerdict, settings_of
from tlslab.model.proof_words import VERDICTS

EXIT_CODES: dict[ProofVerdict, int] = {
    "deploy": 0,
    "no_difference": 0,
    "do_not": 1,
    "cannot_tell": 4,
}


def prove(request: Request, watching: Watching, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Runs a proof, or shows its plan; the exit code. Raises UsageError, CannotRunError."""
    request.trust()
    for each in settings_of(request.experiment).configurations:
        _announce(each)
    if dry_run:
        return dry.show(request, as_json)
    result = carry_out(request, yes, as_json, watching)
    return _conclude(result, as_json)


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


def target_of(url: str | None, files: Files) -> str:
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


def check_policy(policy: Sequence[str], url: str | None, candidate: Path | None) -> None:
    """Refuses policies where the candidate is somebody else's choice. Raises UsageError."""
    if policy and (url is not None or (candidate is not None and not candidate.is_dir())):
        given = "--url" if url is not None else f"--candidate {candidate}"
        raise UsageError(
            f"--policy chooses a candidate, and {given} has one already",
            "leave out --policy; `tlslab grade --policy NAME` holds a server against a policy",
        )


def live_command(text: str | None, option: str, url: str | None) -> str:
    """A command for a live server, as it was written. Raises UsageError."""
    if url is None and text is not None:
        raise UsageError(f"{option} goes with a live server", "give its --url as well")
    if url is not None:
        command_of(text or "", option)
    return text or ""


def configurations_of(files: Files, policy: Sequence[str]) -> tuple[Configuration, Configuration]:
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


def experiment_of(
    settings: ProofSettings,
    quick: bool,
    blocks: int | None,
    budget: str | None,
    expect_status: str | None,
) -> Experiment:
    """The experiment as the options have it. Raises UsageError."""
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
