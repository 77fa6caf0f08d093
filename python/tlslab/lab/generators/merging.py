"""Merging of several hosts' records into one, by the engine's own `merge`."""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlslab.contract.record import HostFound, Lost, RunRecord
from tlslab.domain.errors import EngineError, UsageError
from tlslab.lab.engine_output import answer_of
from tlslab.lab.store import from_json, to_json
from tlslab.servers.programs import require_program

# Merging a thousand records takes seconds.
MERGE_S = 120.0


@dataclass(frozen=True)
class LostShare:
    """A host that was lost, with its share of the load and its last report."""

    name: str
    spec: Mapping[str, Any]
    lost: Lost


def merge(records: Mapping[str, str | Path | Mapping[str, Any] | RunRecord]) -> RunRecord:
    """One record for several generators of one load, without loss, by `tlslab-load merge`.

    `records`, by the generators' names: each the path of a file, its content as `json.loads`
    returns it, or a RunRecord. Raises UsageError for a file that cannot be read, EngineError for
    records that do not belong together, CannotRunError without the engine.
    """
    if not records:
        raise UsageError("there is no record to merge", "name one record at least")
    contents = {name: _content(record) for name, record in records.items()}
    return merged(require_program("tlslab-load"), contents, (), {})


def _content(record: str | Path | Mapping[str, Any] | RunRecord) -> Mapping[str, Any]:
    if isinstance(record, RunRecord):
        content: Mapping[str, Any] = to_json(record)
        return content
    if isinstance(record, Mapping):
        return record
    try:
        data = json.loads(Path(record).read_text("utf-8"))
    except OSError as error:
        raise UsageError(
            f"{record}: {error.strerror}", "give what `tlslab-load -o FILE` wrote"
        ) from None
    except ValueError:
        raise UsageError(f"{record} is no JSON", "give what `tlslab-load -o FILE` wrote") from None
    if not isinstance(data, dict):
        raise UsageError(f"{record} is no record", "give what `tlslab-load -o FILE` wrote")
    return data


def merged(
    program: str,
    records: Mapping[str, Mapping[str, Any]],
    lost: Sequence[LostShare],
    found: Mapping[str, HostFound],
) -> RunRecord:
    """One record of all hosts, by name. Raises EngineError."""
    with tempfile.TemporaryDirectory(prefix="tlslab-merge-") as folder:
        line = [program, "merge", "--json", "--found", _written(folder, "found", to_json(found))]
        for number, (name, record) in enumerate(records.items()):
            line.append(f"{name}={_written(folder, f'record-{number}', record)}")
        for number, each in enumerate(lost):
            account = {"host": each.name, "spec": each.spec, **to_json(each.lost)}
            line += ["--lost", _written(folder, f"lost-{number}", account)]
        try:
            done = subprocess.run(line, capture_output=True, timeout=MERGE_S, check=False)
        except subprocess.TimeoutExpired:
            raise EngineError("engine_hangs", "the records could not be merged in time") from None
    return from_json(answer_of(done), RunRecord)


def _written(folder: str, name: str, content: Any) -> str:
    path = Path(folder) / f"{name}.json"
    path.write_text(json.dumps(content), "utf-8")
    return str(path)
