"""`tlslab plan`: how many processors does a load take, or what do N of them carry?"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tlslab.cli.console import conclude, out, say
from tlslab.cli.options import AsJson, Version, as_share
from tlslab.experiment import KNOWN_LEVELS
from tlslab.experiment.costs import COST_RULES
from tlslab.model.capacity import Objective, parse_objective
from tlslab.model.errors import UsageError
from tlslab.model.experiment import Experiment
from tlslab.model.suggest import did_you_mean

if TYPE_CHECKING:
    from tlslab.analysis.costs.model import CostModel

# Beside this share of a processor's time there is room for what comes in bursts.
BUSY_AT_MOST = "80%"

LIMIT_PROCESSORS = 1_000_000
LIMIT_RATE = 1e9

_RATE = re.compile(r"(\d+(?:\.\d+)?)(k?)(?:/s)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(k|kB|KiB|M|MB|MiB|B)?")
_BYTES = {"": 1, "B": 1, "k": 1024, "KiB": 1024, "kB": 1000, "M": 1024**2, "MiB": 1024**2}
_BYTES["MB"] = 1000**2


def command(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR", help="A run folder of calibrate; by default the newest below runs/."
        ),
    ] = None,
    new: Annotated[
        str | None, typer.Option(metavar="RATE", help="New connections a second: 5000/s.")
    ] = None,
    processors: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=LIMIT_PROCESSORS, help="What do N processors carry?"),
    ] = None,
    resumed: Annotated[
        str, typer.Option(metavar="PERCENT", help="The share of connections that resume a session.")
    ] = "0%",
    requests: Annotated[
        int,
        typer.Option("--requests-per-connection", metavar="N", min=1, max=1_000_000),
    ] = 1,
    document: Annotated[
        str | None,
        typer.Option("--size", metavar="BYTES", help="The size of a response: 4k is 4,096 bytes."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(metavar="p99<50ms", help="What the connections' response times must meet."),
    ] = None,
    busy: Annotated[
        str, typer.Option(metavar="PERCENT", help="How busy a processor may be at most.")
    ] = BUSY_AT_MOST,
    tls: Annotated[
        str | None, typer.Option(help="1.2 or 1.3; the calibration's by default.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="The certificate's key: rsa-2048.")] = None,
    group: Annotated[str | None, typer.Option(help="The key-exchange group.")] = None,
    suite: Annotated[str | None, typer.Option(help="The cipher suite.")] = None,
    as_json: AsJson = False,
    _version: Version = False,
) -> None:
    """How many processors a load takes, or what a number of them carries, by measured costs.

    `tlslab run calibrate --target SERVER` measures the costs first.
    """
    from tlslab.analysis.costs.sizing import Bounds, size
    from tlslab.analysis.costs.summary import calibration
    from tlslab.lab.results import newest_calibration, read_contents
    from tlslab.report.sizing import render_sizing
    from tlslab.store import RunFolder, to_json

    if (new is None) == (processors is None):
        raise UsageError(
            "what is asked for?",
            "give --new RATE for the processors that a load takes, or "
            "--processors N for the load that they carry",
        )
    bounds = Bounds(as_share(busy, "--busy"), _objective(objective))
    rate = None if new is None else as_rate(new)
    run = RunFolder.open(folder if folder is not None else newest_calibration())
    contents = read_contents(run)
    if contents.experiment.design is None:
        raise UsageError(
            f"{run.path} has no costs of parts: it is a run of {contents.experiment.name}",
            "make one: tlslab run calibrate --target SERVER",
        )
    found = calibration(contents)
    if found.model is None:
        raise UsageError(f"{run.path}: no block has a cost of every cell: there is no cost model")
    load = {"resumed": _percentage(resumed), "requests": str(requests)}
    if document is not None:
        load |= {"document_bytes": str(as_bytes(document))}
    chosen = {"tls": tls, "key": key, "group": group, "suite": suite}
    mix = _mix(found.model, contents.experiment, chosen, load)
    sizing = size(found.model, found.checks, mix, bounds, rate, processors)
    if as_json:
        typer.echo(json.dumps(to_json(sizing), allow_nan=False))
    else:
        out.print(render_sizing(sizing, contents.environment))
    for damage in run.damages():
        say(f"warning: {damage}")
    raise typer.Exit(conclude(f"planned with {run.path}", 0))


def as_rate(text: str) -> float:
    """`5000/s`, `5000` or `5k/s` as connections a second. Raises UsageError."""
    found = _RATE.fullmatch(text.strip().replace(",", ""))
    rate = float(found[1]) * (1000 if found[2] else 1) if found else 0.0
    if not 0 < rate <= LIMIT_RATE:
        raise UsageError(f"--new {text}: not a rate", "write it like 5000/s or 5k/s")
    return rate


def as_bytes(text: str) -> int:
    """`4096`, `4k` or `4kB` in bytes. Raises UsageError."""
    found = _SIZE.fullmatch(text.strip())
    size_bytes = round(float(found[1]) * _BYTES[found[2] or ""]) if found else -1
    if not 0 <= size_bytes <= 1 << 30:
        raise UsageError(
            f"--size {text}: not a size up to 1 GiB", "write it like 4096, 4k (4,096) or 4kB"
        )
    return size_bytes


def _percentage(text: str) -> str:
    share = re.fullmatch(r"(100|[1-9]?[0-9])%?", text.strip())
    if share is None:
        raise UsageError(
            f"--resumed {text}: not a whole percentage from 0% to 100%", "write it like 60%"
        )
    return f"{share[1]}%"


def _objective(text: str | None) -> Objective | None:
    if text is None:
        return None
    found = parse_objective(text)
    if found is None:
        raise UsageError(f"--objective {text}: not an objective", "write it like 'p99<50ms'")
    return found


def _mix(
    model: "CostModel",
    experiment: Experiment,
    chosen: Mapping[str, str | None],
    load: Mapping[str, str],
) -> dict[str, str]:
    """The calibration's own mix with the levels that were chosen. Raises UsageError."""
    levels = {name: _level(name, level) for name, level in chosen.items() if level}
    mix = experiment.as_planned({**model.centre, **levels, **load})
    if unknown := model.unknown(mix):
        raise UsageError(
            f"the calibration has no cost of: {', '.join(unknown)}",
            "measure it: tlslab run calibrate with --set FACTOR=LEVEL,LEVEL for what is missing",
        )
    return mix


def _level(factor: str, text: str) -> str:
    level = COST_RULES[factor].level(text)
    if level is None:
        known = KNOWN_LEVELS.get(factor, ())
        raise UsageError(f"unknown {factor} '{text}'", did_you_mean(text, known))
    return level
