"""`tlslab.merge`: the engine merges records given in any form."""

import json
import stat
import sys
from pathlib import Path

import pytest

import tlslab
from factories.capacity import made_by
from factories.run import made_run
from tlslab.domain.errors import EngineError, UsageError
from tlslab.lab.generators import merging
from tlslab.lab.store import to_json

RECORD = made_run(quick=True).trials[0].runs["capacity"].record

# Prints the given names and, as the merged record, the last record; or a refusal.
STUB = f"""\
#!{sys.executable}
import json, pathlib, sys
assert sys.argv[1:3] == ["merge", "--json"]
named = dict(word.split("=") for word in sys.argv if "=" in word)
records = [json.loads(pathlib.Path(path).read_text()) for path in named.values()]
if len(records) > 2:
    print(json.dumps({{"schema": "tlslab.error/1", "class": "usage", "message": "they differ"}}))
    sys.exit(2)
assert records[0] == records[-1]
print(json.dumps({{**records[-1], "notes": sorted(named)}}))
"""


@pytest.fixture(autouse=True)
def _engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tlslab-load"
    program.write_text(STUB)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(merging, "require_program", lambda name: str(program))


def test_files_objects_and_records_are_merged_by_their_names(tmp_path: Path) -> None:
    file = tmp_path / "west.json"
    file.write_text(json.dumps(to_json(RECORD)))
    for west in (file, str(file), to_json(RECORD), RECORD):
        merged = tlslab.merge({"east": RECORD, "west": west})
        assert merged.notes == ("east", "west")
        assert merged.outcomes == RECORD.outcomes


def test_files_without_a_record_are_not_merged(tmp_path: Path) -> None:
    broken, number = tmp_path / "broken", tmp_path / "number"
    broken.write_text("{")
    number.write_text("7")
    for file, words in [(broken, "no JSON"), (number, "no record"), (tmp_path / "none", "No such")]:
        with pytest.raises(UsageError, match=words):
            tlslab.merge({"a": file})
    with pytest.raises(UsageError, match="no record to merge"):
        tlslab.merge({})
    with pytest.raises(EngineError, match="they differ"):
        tlslab.merge({"a": RECORD, "b": RECORD, "c": made_by(RECORD, 2)})
