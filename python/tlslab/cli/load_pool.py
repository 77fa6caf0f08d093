"""`tlslab load --generators`: one load by several generators, and the same table of it."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tlslab.cli.load_run import Loaded, PhaseMeter, progress_line
from tlslab.lab.accounting import Meter
from tlslab.lab.engine_output import Event, EventLines, answer
from tlslab.lab.generators.choose import generators
from tlslab.lab.generators.together_run import LostPolicy
from tlslab.lab.programs import require_program
from tlslab.lab.server_side.side import Side, SideMeter
from tlslab.model.errors import UsageError
from tlslab.model.record import RunRecord
from tlslab.store import to_json

# What belongs to one engine on this machine, and has no place with several.
_OF_ONE = ("--trace", "--keylog", "--client-key", "--client-cert", "--source", "--barrier")

# How the engine shows a result, which the lab does itself here.
_SHOWN = ("--json", "--events", "--progress")

_OUTPUT = ("-o", "--output")

# The engine's own time to say what options stand for.
_PRINT_S = 30.0


def pool_spec(given: Sequence[str], allowed: Sequence[str]) -> tuple[dict[str, Any], Path | None]:
    """The specification that the engine's options stand for, and the file for the record.

    Raises UsageError for options that several generators cannot have, EngineError for wrong ones.
    """
    for word in given:
        if word.partition("=")[0] in (*_OF_ONE, "--format"):
            raise UsageError(f"{word.partition('=')[0]} goes with one generator", "leave one out")
    line, output = _without_output([word for word in given if word not in _SHOWN])
    hosts = [word for host in allowed for word in ("--allow", host)]
    command = [require_program("tlslab-load"), "--json", "--print-spec", *hosts, *line]
    done = subprocess.run(command, capture_output=True, timeout=_PRINT_S, check=False)
    lines = EventLines(lambda event: None)
    lines.feed(done.stderr + b"\n")
    return answer(done.stdout, done.returncode, lines.words), output


def _without_output(given: Sequence[str]) -> tuple[list[str], Path | None]:
    """The options without the file that the record goes to, and that file."""
    rest: list[str] = []
    output = None
    words = iter(given)
    for word in words:
        name, equals, value = word.partition("=")
        if name in _OUTPUT:
            output = Path(value if equals else next(words, ""))
        else:
            rest.append(word)
    return rest, output


def run_pool(
    spec: Mapping[str, Any], wanted: str, policy: LostPolicy, side: Side, raw: bool
) -> Loaded:
    """One run of the generators. Raises UsageError, CannotRunError, and EngineError as they do.

    `raw`: events go to standard error as they are.
    """
    watcher = _Watcher(SideMeter(side), raw)
    meter = Meter([])
    with generators(wanted, policy) as pool:
        meter.start()
        try:
            record = pool.run(spec, watcher)
        finally:
            meter.end()
            watcher.close()
    output = json.dumps(to_json(record)).encode()
    loaded = Loaded(exit_code(record), output, meter.machine())
    return watcher.with_side(loaded)


def exit_code(record: RunRecord) -> int:
    """As the engine ends with such a record."""
    return 0 if any(verdict.code == "valid" for verdict in record.verdicts) else 1


class _Watcher(PhaseMeter):
    """Takes the events of the run: meters by its phases, shows its progress."""

    def __init__(self, meter: SideMeter, raw: bool) -> None:
        super().__init__(meter)
        self._raw = raw

    def __call__(self, event: Event) -> None:
        """The next event."""
        self.follow(event)
        if self._raw:
            sys.stderr.write(json.dumps(event) + "\n")
        elif event["event"] == "progress":
            sys.stderr.write(progress_line(event) + "\n")
        sys.stderr.flush()
