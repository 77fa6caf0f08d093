"""The work of `tlslab run`: from its options to a request, the run, and the last lines."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import typer

from tlslab.cli import dry
from tlslab.cli.allow import read_allow_file
from tlslab.cli.carrying_out import carry_out, conclude_run
from tlslab.cli.console import say
from tlslab.cli.ending import exit_code, reason
from tlslab.cli.options import EXPERIMENTS
from tlslab.cli.resumed import folder_experiment, refuse_commands, taken_over
from tlslab.cli.values import as_seconds
from tlslab.cli.wanted import Changes, changed, parse_levels, parse_targets, with_targets
from tlslab.cli.watching import Watching
from tlslab.domain.command_line import SETTLE_S
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import Summary
from tlslab.experiment import file_kind, load, shipped
from tlslab.lab.experiment_run import MOST_BY_BUDGET, Request, within
from tlslab.lab.generators.choose import check_generators, check_policy, require_reachable
from tlslab.lab.store import RunFolder
from tlslab.servers.address import own_address
from tlslab.servers.external import parse_hook


def run(context: typer.Context, watching: Watching) -> int:
    """Runs the command line of `tlslab run`; returns the exit code.

    Raises UsageError, CannotRunError.
    """
    given = context.params
    options = dict(given)
    if given["experiment"] is None:
        folder = given["resume"]
        if folder is None:
            raise UsageError(
                "the experiment is missing",
                f"give {EXPERIMENTS}, or a file in TOML; or --resume DIR",
            )
        wanted = folder_experiment(RunFolder.open(folder))
        options |= taken_over(context, folder)
    else:
        loaded = load(given["experiment"], given["quick"])
        refuse_commands(loaded)
        wanted = changed(loaded, _changes(given))
    request = replace(_request(wanted, options), spare_versions=_spare_versions(given, wanted))
    if given["budget"] is not None and file_kind(wanted).why_fixed:
        budget_s = as_seconds(given["budget"], "--budget")
        fitted = within(request, budget_s, given["blocks"] or MOST_BY_BUDGET)
        request = fitted.request
        if fitted.reservation:
            say(f"warning: {fitted.reservation}")
    if given["dry_run"]:
        return dry.show(request, given["as_json"])
    result = carry_out(request, given["yes"], given["as_json"], watching)
    return conclude_run(result, given["as_json"], _ending)


def _spare_versions(given: Mapping[str, Any], wanted: Experiment) -> tuple[str, ...]:
    """TLS 1.2, for a server without TLS 1.3, if a shipped experiment has only that."""
    named = parse_levels(list(given["set_"] or ()))
    is_free = given["experiment"] in shipped() and "tls" not in named
    return ("1.2",) if is_free and wanted.levels("tls") == ("1.3",) else ()


def _changes(options: Mapping[str, Any]) -> Changes:
    return Changes(
        settings=tuple(options["set_"] or ()),
        jdks=tuple(options["jdk"] or ()),
        objective=options["objective"],
        allow_obsolete=options["allow_obsolete"],
        blocks=options["blocks"],
        seconds=options["seconds"],
        expect_status=options["expect_status"],
        until=options["until"],
        budget=options["budget"],
    )


def _request(experiment: Experiment, options: Mapping[str, Any]) -> Request:
    """The request for these options. Raises UsageError."""
    experiment, targets = with_targets(experiment, parse_targets(options["target"] or []))
    factors = [factor.name for factor in experiment.factors]
    configure = options["configure"]
    timeout_s = options["configure_timeout"]
    request = Request(
        experiment=experiment,
        targets=targets,
        command=("tlslab", *sys.argv[1:]),
        out=options["out_dir"],
        resume=options["resume"],
        allow=tuple(options["allow"] or ()),
        proof=options["proof"],
        seed=options["seed"],
        authority=options["ca"],
        insecure=options["insecure"],
        hook=None if configure is None else parse_hook(configure, factors, timeout_s),
        ready_s=options["ready"],
        settle_s=options.get("settle", SETTLE_S),
        jdks=tuple(options["jdk"] or ()),
        server_metrics=options["server_metrics"],
        why=options["why"],
        generators=check_generators(options["generators"]),
        on_lost_host=check_policy(options["on_lost_host"], options["generators"]),
        listen=None if options.get("listen") is None else own_address(options["listen"]),
    )
    # Checked first, so that a missing file is reported at once.
    request.trust()
    if not request.external:
        require_reachable(request.generators, request.listen)
    return replace(request, allow=(*request.allow, *read_allow_file()))


def _ending(summary: Summary) -> tuple[str, int]:
    """The verdicts of the cells in words, and the exit code."""
    return reason([cell.verdict for cell in summary.cells]), exit_code(summary)
