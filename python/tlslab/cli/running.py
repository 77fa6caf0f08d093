"""The work of `tlslab run`: from its options to a request, the run, and the last lines."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from tlslab.cli import dry
from tlslab.cli.carrying_out import carry_out, conclude_run, request_of
from tlslab.cli.console import say
from tlslab.cli.ending import exit_code, reason
from tlslab.cli.options import EXPERIMENTS, Output
from tlslab.cli.run_options import Options
from tlslab.cli.values import as_seconds, as_share, as_url, servers_in
from tlslab.cli.watching import Watching
from tlslab.domain.command_line import SETTLE_S, is_url
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import MATRIX, Experiment
from tlslab.domain.finding import Summary
from tlslab.domain.names import NO_TLS
from tlslab.experiment import (
    Form,
    at_url,
    file_kind,
    load,
    loads,
    measures_in,
    mix_in,
    question,
    shipped,
    with_levels,
)
from tlslab.experiment.short import asked_for, few, shortened
from tlslab.experiment.workload import required_status
from tlslab.lab.experiment_run import MOST_BY_BUDGET, Request, within
from tlslab.lab.generators.choose import check_generators, check_policy, require_reachable
from tlslab.lab.store import RunFolder
from tlslab.servers import find_kind
from tlslab.servers.address import own_address
from tlslab.servers.external import parse_hook
from tlslab.servers.jdk import ALL, expand

DEFAULT_TARGET = "reference"

# What a question measures, and what one about the cost of TLS itself does.
MEASURED, MEASURED_WITHOUT_TLS = "new,resumed", "new,request"

# Options that determine the plan, which is in the folder.
_DECIDED = ("target", "settings", "vary", "measure", "mix", "quick", "as_published", "blocks",
            "until", "seconds", "objective", "allow_obsolete", "expect_status", "out")  # fmt: skip

# Options on this machine and its servers, which may have changed since.
_TAKEN_OVER = ("allow", "proof", "authority", "insecure", "jdks", "configure", "configure_timeout",
               "ready_s", "server_metrics", "why", "generators", "on_lost_host",
               "listen")  # fmt: skip


# The commands that start such runs; each has options of its own.
_BEGINS = ("run", "prove")


def run(
    context: typer.Context, given: Options, watching: Watching, output: Output, yes: bool
) -> int:
    """Runs the command line of `tlslab run`; returns the exit code.

    `context` knows which options were given. Raises UsageError, CannotRunError.
    """
    if given.experiment is None and given.resume is None and asks(given):
        request = _request(asked(given), given)
    elif given.experiment is not None:
        if given.vary or given.measure or given.mix:
            raise UsageError(
                f"--vary, --measure and --mix ask a question; {given.experiment} has its own",
                f"leave {given.experiment} out, or give its levels with --set",
            )
        loaded = load(given.experiment, _form(given))
        refuse_commands(loaded)
        if loaded.kind == MATRIX and any(map(is_url, parse_targets(given.target or []))):
            loaded = at_url(loaded)
        experiment = changed(loaded, given)
        if vary := _varied_instead(loaded, experiment, given):
            experiment = _asked_by_set(vary, given)
        request = _request(experiment, given)
        request = replace(request, spare_versions=_spare_versions(given, request.experiment))
    elif given.resume is not None:
        # As it was started.
        folder = RunFolder.open(given.resume)
        wanted = loads(folder.experiment_text(), str(folder.path / "experiment.toml"))
        request = _request(wanted, *taken_over(context, given, given.resume))
    else:
        raise UsageError(
            "the experiment is missing",
            f"ask what a factor changes: --vary tls=1.2,1.3; or give {EXPERIMENTS}, or a file in "
            "TOML; or --resume DIR",
        )
    if given.budget is not None:
        request = _limited(request, given, as_seconds(given.budget, "--budget"))
    if given.dry_run:
        return dry.show(request, output)
    return conclude_run(carry_out(request, yes, output, watching), output, _ending)


def _form(given: Options) -> Form:
    """The form of the experiment. Raises UsageError."""
    if given.quick and given.as_published:
        raise UsageError("--quick and --as-published are both given", "give one of them")
    return "quick" if given.quick else "as_published" if given.as_published else ""


def _limited(request: Request, given: Options, budget_s: float) -> Request:
    """The request with its time: of this sitting if its plan is fixed, else by fewer blocks."""
    if given.resume is not None or given.as_published:
        say(f"this sitting begins no trial that would end after {budget_s:,.0f} s")
        return replace(request, sitting_s=budget_s)
    if not file_kind(request.experiment).why_fixed:
        return request
    fitted = within(request, budget_s, given.blocks or MOST_BY_BUDGET)
    if fitted.reservation:
        say(f"warning: {fitted.reservation}")
    return fitted.request


# Servers, and how connections resume, are asked about by other options.
_NO_QUESTION = frozenset({"server", "front", "resume", "resumed"})


def _varied_instead(
    loaded: Experiment, wanted: Experiment, given: Options
) -> dict[str, tuple[str, ...]]:
    """The factors to which `--set` gives several levels, where it leaves one of what a shipped
    experiment asks about: the question is then what varies. Empty otherwise.
    """
    given_levels = parse_levels(given.settings or [])
    several = {name: levels for name, levels in given_levels.items() if len(set(levels)) > 1}
    compared = {f.name for f in wanted.factors if len({*f.levels} - {NO_TLS}) > 1}
    others = compared - set(several)
    is_plain = given.experiment in shipped() and loaded.kind == MATRIX and given.until is None
    is_asked = not others and not set(several) & (set(loaded.baseline) | _NO_QUESTION)
    return several if is_plain and is_asked and len(parse_targets(given.target or [])) < 2 else {}


def _asked_by_set(vary: dict[str, tuple[str, ...]], given: Options) -> Experiment:
    """The question of `--set FACTOR=LEVEL,LEVEL`, said as what it is."""
    fixed = [text for text in given.settings or [] if text.partition("=")[0] not in vary]
    asking = [f"{name}={','.join(levels)}" for name, levels in vary.items()]
    words = " ".join(f"--vary {text}" for text in asking)
    say(f"{given.experiment} has one level left of what it compares: asking {words}")
    return asked(replace(given, vary=asking, settings=fixed))


def asks(given: Options) -> bool:
    """Whether the options ask a question without an experiment: a factor varies, or servers do."""
    return bool(given.vary) or len(parse_targets(given.target or [])) > 1


def asked(given: Options) -> Experiment:
    """The experiment of the question. Raises UsageError."""
    if given.as_published:
        raise UsageError(
            "--as-published is for the experiment of a study", "name it: tlslab run groups, suites"
        )
    vary = parse_levels(given.vary or [], "--vary")
    targets = parse_targets(given.target or [])
    if targets and "server" in vary:
        raise UsageError("--vary server and --target both name servers", "give one of them")
    if len(targets) > 1:
        vary = {"server": targets, **vary}
    mix = None if given.mix is None else mix_in(given.mix)
    fixed = parse_levels(given.settings or [])
    usual = MEASURED_WITHOUT_TLS if NO_TLS in vary.get("tls", ()) else MEASURED
    experiment = question(vary, fixed, measures_in(given.measure or usual), mix, given.quick)
    experiment = shortened(experiment, file_kind(experiment)) if asked_for() else experiment
    return changed(experiment, replace(given, settings=None))


def _spare_versions(given: Options, wanted: Experiment) -> tuple[str, ...]:
    """TLS 1.2, for a server without TLS 1.3, if a shipped experiment has only that."""
    is_free = given.experiment in shipped() and "tls" not in parse_levels(given.settings or [])
    return ("1.2",) if is_free and wanted.levels("tls") == ("1.3",) else ()


def _request(experiment: Experiment, given: Options, settle_s: float = SETTLE_S) -> Request:
    """The request for these options. Raises UsageError."""
    experiment, targets = with_targets(experiment, parse_targets(given.target or []))
    factors = [factor.name for factor in experiment.factors]
    command = given.configure
    hook = None if command is None else parse_hook(command, factors, given.configure_timeout)
    request = request_of(
        given,
        experiment,
        targets,
        hook=hook,
        settle_s=settle_s,
        generators=check_generators(given.generators),
        on_lost_host=check_policy(given.on_lost_host, given.generators),
        listen=None if given.listen is None else own_address(given.listen),
    )
    if not request.external:
        require_reachable(request.generators, request.listen)
    return request


def _ending(summary: Summary) -> tuple[str, int]:
    """The verdicts of the cells in words, and the exit code."""
    return reason([cell.verdict for cell in summary.cells]), exit_code(summary)


def changed(experiment: Experiment, given: Options) -> Experiment:
    """The experiment with the options applied. Raises UsageError."""
    kind = file_kind(experiment)
    if given.quick and given.objective is not None:
        experiment = kind.briefly_within(experiment)
    experiment = with_levels(experiment, parse_levels(given.settings or []))
    experiment = with_jdks(experiment, tuple(given.jdks or ()))
    experiment = kind.with_objective(experiment, given.objective, given.allow_obsolete)
    experiment = _with_ending(experiment, given)
    if given.seconds is not None:
        experiment = kind.with_seconds(experiment, given.seconds)
    if given.expect_status is not None:
        status = required_status(given.expect_status)
        if not kind.has_server:
            raise UsageError(
                f"--expect-status is for experiments with a server: {experiment.name} has none",
                "leave --expect-status out",
            )
        workload = replace(experiment.workload, expect_status=status)
        experiment = replace(experiment, workload=workload)
    return experiment


def _with_ending(experiment: Experiment, given: Options) -> Experiment:
    """The experiment with the options that determine its number of blocks."""
    kind = file_kind(experiment)
    blocks = None if given.blocks is None else few(given.blocks)
    if given.until is None and given.budget is None:
        return experiment if blocks is None else kind.with_blocks(experiment, blocks)
    if given.as_published and given.until is None:
        return experiment if blocks is None else kind.with_blocks(experiment, blocks)
    until = None if given.until is None else as_share(given.until, "--until")
    budget_s = None if given.budget is None else as_seconds(given.budget, "--budget")
    experiment = kind.with_stopping(experiment, until, budget_s)
    if kind.why_fixed:
        # The number of blocks follows from their length, which depends on the servers (lab.budget).
        return experiment
    return experiment if blocks is None else replace(experiment, blocks=blocks)


def with_jdks(experiment: Experiment, given: tuple[Path, ...]) -> Experiment:
    """The experiment on the Java installations of this machine and the given ones.

    Benchmarks find theirs when they start. Raises UsageError.
    """
    levels = experiment.levels("jdk")
    if not levels:
        if given and not file_kind(experiment).finds_jdks:
            raise UsageError(
                "--jdk is for experiments on Java: runtimes, concurrency", "leave --jdk out"
            )
        return experiment
    found = expand(levels, given)
    if asked_for() and ALL in levels:
        # A short run takes one: the first given one, or the newest.
        found = expand((), given[:1]) if given else found[-1:]
    return with_levels(experiment, {"jdk": found})


def parse_targets(given: list[str]) -> tuple[str, ...]:
    """The targets of `--target` options: names and URLs, with commas between them; each once.

    `localhost:8443` is the URL https://localhost:8443/. Raises UsageError for unknown names.
    """
    names = tuple(dict.fromkeys(as_url(part) for each in given for part in servers_in(each)))
    if not any(is_url(name) for name in names):
        for name in names:
            find_kind(name)
    return names


def with_targets(
    experiment: Experiment, targets: tuple[str, ...]
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment on these servers, and the servers; several are levels of the factor `server`.

    Without any: those of the experiment, or the reference server. Raises UsageError.
    """
    kind = file_kind(experiment)
    levels = experiment.levels("server")
    if not targets:
        _refuse_both_kinds("--set server", levels)
        return experiment, levels or (kind.server(experiment) or DEFAULT_TARGET,)
    _refuse_both_kinds("--target", targets)
    if not kind.has_server:
        raise UsageError(
            f"--target is for experiments with a server: {experiment.name} has none",
            "leave --target out",
        )
    if len(targets) > 1 and "server" not in kind.factors:
        raise UsageError(
            f"--target: {experiment.name} takes one server at a time", "make a run for each"
        )
    if is_url(targets[0]) and not all(is_url(level) for level in levels):
        raise UsageError(
            f"--target: {experiment.name} compares servers that the lab starts "
            f"({', '.join(levels)}); it cannot measure a URL",
            "leave out --set server, or take another experiment, such as groups",
        )
    if len(targets) > 1 or levels:
        experiment = with_levels(experiment, {"server": targets})
    return experiment, targets


def _refuse_both_kinds(option: str, servers: Sequence[str]) -> None:
    """Refuses URLs beside servers that the lab starts. Raises UsageError."""
    if len({is_url(server) for server in servers}) > 1:
        raise UsageError(
            f"{option}: a URL and a server that the lab starts cannot be in one run: the lab gives "
            "its own server a processor of its own, and cannot do that for the URL's",
            "make a run for each server; `tlslab compare A B` compares two runs (a comma in the "
            "path of a URL is written %2C)",
        )


def parse_levels(settings: list[str], option: str = "--set") -> dict[str, tuple[str, ...]]:
    """`--set` options as levels by factor; a factor may be given once. Raises UsageError."""
    levels: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        factor, equals, values = setting.partition("=")
        wanted = tuple(value.strip() for value in values.split(",") if value.strip())
        if not equals or not wanted:
            raise UsageError(
                f"{option} {setting}: not of the form FACTOR=LEVEL,LEVEL",
                f"write it like {option} group=X25519,P-256",
            )
        if factor in levels:
            raise UsageError(
                f"{option} names the factor '{factor}' twice",
                f"give all levels at once: {option} {factor}=LEVEL,LEVEL",
            )
        levels[factor] = wanted
    return levels


def refuse_commands(experiment: Experiment) -> None:
    """Refuses a file whose commands would run unseen on a live server. Raises UsageError."""
    if file_kind(experiment).commands(experiment):
        raise UsageError(
            "a file with the commands of a live proof is not run",
            "give them to `tlslab prove --url URL --apply COMMAND --revert COMMAND`; "
            "`tlslab run --resume DIR` goes on with an interrupted proof",
        )


def taken_over(context: typer.Context, given: Options, path: Path) -> tuple[Options, float]:
    """The options of the folder's own command, as far as this command line does not give them.

    With the pause of a proof after a switch, in seconds.

    Raises UsageError for options that would change the plan, StoreError for a damaged folder.
    """
    for param in context.command.params:
        name = param.name or ""
        if name in _DECIDED and not _is_default(context, name):
            raise UsageError(
                f"{param.opts[0]} would change the plan that {path} holds",
                "a resumed run goes on as it was begun: leave the option out, or begin a new run",
            )
    earlier = options_of(context, RunFolder.open(path).environment().command)
    kept = {
        name: earlier[name]
        for name in ("target", *_TAKEN_OVER)
        if name in earlier and _is_default(context, name)
    }
    return replace(given, **kept), earlier.get("settle_s", SETTLE_S)


def options_of(context: typer.Context, command: tuple[str, ...]) -> dict[str, Any]:
    """The options of an earlier `tlslab run ...` or `tlslab prove ...`, by parameters' names.

    Empty for any other command.
    """
    name = command[1] if command[1:2] and command[1] in _BEGINS else ""
    group = context.find_root().command
    begun = group.get_command(context, name) if name and isinstance(group, TyperGroup) else None
    if begun is None:
        return {}
    parsed = begun.make_context(name, list(command[2:]), resilient_parsing=True)
    return {name: _plain(value) for name, value in parsed.params.items()}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _is_default(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is None or source.name.startswith("DEFAULT")
