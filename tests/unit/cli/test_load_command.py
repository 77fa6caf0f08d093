"""`tlslab load`: the engine's own output, with the use of machine and server beside it."""

import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from factories.capacity import made_by
from factories.run import made_run
from tlslab.cli import load_run
from tlslab.cli.load_arguments import (
    MODES,
    conditions_of,
    engine_arguments,
    gives_connections,
    own_options,
)
from tlslab.cli.load_beside import beside_table
from tlslab.cli.load_run import pool_spec
from tlslab.cli.watching import ANYWHERE
from tlslab.contract.record import RunRecord
from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.lab.generators.pool import LostInRunError


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("-n 1 URL", "--allow h -n 1 URL"),
        ("--json URL", "--allow h --json URL"),
        ("run -n 1 URL", "--allow h -n 1 URL"),
        # Modes without a server get no hosts; those without a run do.
        *((mode, mode) for mode in ("--in-memory", "--primitives", "--completion=bash", "--man")),
        *((mode, mode) for mode in ("--help", "-V")),
        *((f"{mode} --json", f"{mode} --json") for mode in ("in-memory", "primitives", "schema")),
        *((m, f"--allow h {m}") for m in ("--preflight", "--probe=h", "--hold=10", "--print-spec")),
        # A mode stays the first word.
        *((f"{mode} x --json", f"{mode} --allow h x --json") for mode in ("probe", "hold")),
    ],
)
def test_allowed_hosts_reach_the_engine_where_there_is_a_server(given: str, line: str) -> None:
    assert engine_arguments(given.split(), ("h",)) == line.split()


@pytest.mark.parametrize(
    "given", [["--print-spec", "URL"], ["--completion", "bash"], ["--man"], ["--preflight", "URL"]]
)
def test_output_that_is_no_record_comes_from_the_engine_alone(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines: list[Sequence[str]] = []

    def run_engine(line: Sequence[str], _: object) -> int:
        lines.append(line)
        return 0

    monkeypatch.setattr(load_run, "run_engine", run_engine)
    assert load_run.load(given) == 0
    assert not {"--json", "--events"} & {*lines[0]}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("option", ["--metrics=:9464", "--live", "--server-metrics=http://h"])
def test_the_labs_options_do_not_go_with_output_that_is_no_record(option: str) -> None:
    with pytest.raises(UsageError, match="has no place in the engine's own output"):
        load_run.load([option, "--print-spec", "URL"])


def test_the_specification_is_not_printed_for_several_generators() -> None:
    with pytest.raises(UsageError, match="--generators is for a load"):
        load_run.load(["--generators", "2", "--print-spec", "URL"])


def test_every_mode_of_the_engine_is_known() -> None:
    source = Path(__file__).parents[3] / "crates/programs/src/load/mode.rs"
    (body,) = re.findall(r"pub enum Mode {\n(.*?)^}", source.read_text("utf-8"), re.M | re.S)
    names = re.findall(r"^    ([A-Z]\w*)\(", body, re.M)
    kebab = [re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() for name in names]
    assert tuple(kebab) == MODES


@pytest.fixture
def record() -> RunRecord:
    return made_run(quick=True).trials[0].runs["capacity"].record


def test_the_labs_own_options_are_taken_out() -> None:
    given = ["--generators", "2", "-c", "9", "--on-lost-host=keep", "URL"]
    rest, own = own_options(given)
    assert rest == ["-c", "9", "URL"]
    assert own == {"--generators": "2", "--on-lost-host": "keep"}
    assert own_options(["-c", "9"]) == (["-c", "9"], {})
    given = ["--live", "-n", "1", "--metrics", ":9464", "--server-metrics=http://h/", "URL"]
    rest, own = own_options(given)
    assert rest == ["-n", "1", "URL"]
    wanted = {"--live": ANYWHERE.shown, "--metrics": ":9464", "--server-metrics": "http://h/"}
    assert own == wanted


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--generators"], "--generators needs a value"),
        (["--generators", "--json"], "--generators needs a value"),
        (["--server-metrics", "-c"], "--server-metrics needs a value"),
        (["--metrics"], "--metrics needs a value"),
        (["--live=", "URL"], "--live needs a value"),
        (["--on-lost-host", "keep"], "needs --generators"),
    ],
)
def test_an_own_option_without_its_value_is_refused(given: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        own_options(given)


@pytest.mark.parametrize("option", ["--trace=x", "--keylog=x", "--client-key=x", "--format=csv"])
def test_options_of_one_engine_are_refused_with_several(option: str) -> None:
    with pytest.raises(UsageError, match="is for one generator"):
        pool_spec(["-c", "9", option, "URL"], ())


def test_conditions_are_checked_before_a_load_and_read_in_either_form() -> None:
    given = ["--fail-if", "p99>5ms", "-c", "1", "--fail-if=failed>0", "https://127.0.0.1:1/"]
    assert conditions_of(given) == ["--fail-if=p99>5ms", "--fail-if=failed>0"]
    assert pool_spec(given, ())[0]["connections"] == 1
    with pytest.raises(EngineError, match="'p98>5ms' is no condition; write p99>50ms"):
        pool_spec(["--fail-if", "p98>5ms", "https://127.0.0.1:1/"], ())


@pytest.mark.parametrize("as_json", [False, True])
def test_a_condition_fails_the_load_of_several_generators(
    as_json: bool,
    record: RunRecord,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Pool:
        size = 2

    lines: list[Sequence[str]] = []

    def run_engine(line: Sequence[str], take: Callable[[bytes], None]) -> int:
        lines.append(line[1:-1])
        take(b"--fail-if 'rate>0': 5.0 connections/s\n")
        take(b"of one engine: exit 1\n")
        return 1

    monkeypatch.setattr(load_run, "pool_spec", lambda *_: ({}, None))
    monkeypatch.setattr(load_run, "several_generators", lambda *_: nullcontext(Pool()))
    monkeypatch.setattr(load_run, "_measured", lambda *_: (made_by(record, 2), 0))
    monkeypatch.setattr(load_run, "run_engine", run_engine)
    form, condition = ["--json"] if as_json else [], ["--fail-if", "rate>0"]
    assert load_run.load(["--generators", "2", "-c", "2", *form, "URL", *condition]) == 1
    assert lines == [["merge", "--fail-if=rate>0", *form]]
    err = capfd.readouterr().err
    assert "--fail-if 'rate>0': 5.0 connections/s\n" in err
    assert "of one engine" not in err
    assert as_json != ("a condition of --fail-if holds, see above: exit 1" in err)


@pytest.mark.parametrize(
    ("own", "count", "workers", "number", "words"),
    [
        (32, None, 3, 96, "32 for each of 3 workers"),
        (500, None, 2, 500, "as for one generator"),
        (32, 40, 2, 40, "as many as --count"),
        (32, None, 400, 10_000, "10,000 at most"),
        (32, None, 1, 32, "32 for each of 1 worker"),
    ],
)
def test_several_generators_have_a_default_for_all_of_their_workers(
    own: int,
    count: int | None,
    workers: int,
    number: int,
    words: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    spec = {"connections": own, "stop": {"duration_ms": 1} if count is None else {"count": count}}
    assert load_run.with_default(spec, workers) == {**spec, "connections": number}
    assert capfd.readouterr().err == f"connections: {number:,} (default: {words})\n"


@pytest.mark.parametrize(
    ("line", "gives"),
    [
        ("-c 8 URL", True),
        ("-c8 URL", True),
        ("--connections=8 URL", True),
        ("--spec - URL", True),
        ("--ca x URL", False),
        ("-- -c", False),
    ],
)
def test_a_given_number_of_connections_is_seen_in_every_form(line: str, gives: bool) -> None:
    assert gives_connections(line.split()) is gives


@pytest.mark.parametrize(
    "given",
    [["-o", "r.json"], ["-or.json"], ["-o=r.json"], ["--output", "r.json"], ["--output=r.json"]],
)
def test_the_file_of_the_record_is_taken_out_in_every_form(given: list[str]) -> None:
    line = ["-c", "1", *given, "https://127.0.0.1:1/"]
    spec, output = pool_spec(line, ())
    assert output == Path("r.json")
    assert spec["url"] == "https://127.0.0.1:1/"
    assert pool_spec(["-c", "1", "--", "https://127.0.0.1:1/"], ())[1] is None


@pytest.mark.parametrize(
    "given",
    [
        ["https://127.0.0.1:1/", "-o"],
        ["https://127.0.0.1:1/", "--output"],
        ["--output=", "https://127.0.0.1:1/"],
        ["-o=", "https://127.0.0.1:1/"],
    ],
)
def test_an_output_without_a_file_is_refused(given: list[str]) -> None:
    with pytest.raises(UsageError, match="needs a value"):
        pool_spec(given, ())


def test_a_load_that_lost_a_generator_keeps_what_was_measured(
    record: RunRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = made_by(record, 2, is_lost=True)

    class Losing:
        left: RunRecord | None = kept

        def run(self, *_: Any) -> RunRecord:
            error = EngineError(
                "host_lost", "the generator b was lost: it died", "see that it runs"
            )
            raise LostInRunError(error, self.left)

    pool: Any = Losing()
    take: Any = None
    assert load_run._measured(pool, {}, take) == (kept, 1)
    assert "the generator b was lost: it died" in capsys.readouterr().err
    pool.left = None
    with pytest.raises(LostInRunError):
        load_run._measured(pool, {}, take)


def test_a_file_that_cannot_be_written_is_named_and_the_record_printed(
    tmp_path: Path,
    record: RunRecord,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    place = tmp_path / "gone" / "record.json"
    runs: list[int] = []

    def measured(*_: Any) -> tuple[RunRecord, int]:
        """The folder vanishes while the load runs."""
        runs.append(1)
        shutil.rmtree(place.parent)
        return record, 0

    class Pool:
        size = 1

    monkeypatch.setattr(load_run, "pool_spec", lambda *_: ({}, place))
    monkeypatch.setattr(load_run, "several_generators", lambda *_: nullcontext(Pool()))
    monkeypatch.setattr(load_run, "_measured", measured)
    given = ["--generators", "2", "-c", "2", "--output", str(place), "URL"]
    with pytest.raises(CannotRunError, match=r"cannot write .*: No such file"):
        load_run.load(given)
    assert runs == []
    place.parent.mkdir()
    with pytest.raises(CannotRunError, match=r"cannot write .*: No such file"):
        load_run.load(given)
    assert runs == [1]
    assert capfdbinary.readouterr().out.startswith(b'{"schema": "tlslab.record')


def test_the_processors_of_the_machine_have_a_row() -> None:
    machine = made_run(quick=True).trials[0].runs["capacity"].machine
    table = beside_table(machine, None, None, None)
    assert str(next(iter(table.columns[0].cells))) == "machine"
    assert beside_table(None, None, None, None).row_count == 0
