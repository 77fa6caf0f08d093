"""`tlslab load`: one way to the engine for every format; nothing unmeasured is shown as 0."""

import io
import json
import re
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from factories.capacity import made_by
from factories.run import made_run
from tlslab.cli import load_pool, loading
from tlslab.cli.load_arguments import MODES, engine_arguments, own_options
from tlslab.cli.load_pool import exit_code, pool_spec
from tlslab.cli.load_run import Lines, Loaded, Shown
from tlslab.cli.load_table import load_table
from tlslab.cli.loading import _passed_on, _reason, _record, error_of
from tlslab.domain.errors import CannotRunError, EngineError, UsageError
from tlslab.domain.record import RunRecord, Verdict
from tlslab.domain.trial import MachineUsage
from tlslab.lab.generators.pool import LostInRunError
from tlslab.lab.server_side.side import Side
from tlslab.lab.store import from_json, to_json
from tlslab.report.live.state import State


@pytest.mark.parametrize(
    "given", [["-n", "1", "URL"], ["--json", "URL"], ["--json", "--events", "URL"]]
)
def test_allowed_hosts_reach_the_engine_in_every_form(given: list[str]) -> None:
    line = engine_arguments(given, ("bed.example",))
    assert line[-len(given) :] == given
    assert line[line.index("--allow") + 1] == "bed.example"
    assert line.count("--json") == 1


@pytest.mark.parametrize(
    "mode", ["--in-memory", "--primitives", "--completion=bash", "--man", "--help", "-V"]
)
def test_modes_without_a_server_get_no_hosts(mode: str) -> None:
    assert engine_arguments([mode], ("bed.example",)) == [mode]


@pytest.mark.parametrize("mode", ["--preflight", "--probe=h", "--hold=10", "--print-spec"])
def test_modes_without_a_run_are_passed_on_with_the_hosts(mode: str) -> None:
    assert engine_arguments([mode], ("h",)) == ["--allow", "h", mode]


@pytest.mark.parametrize(
    "given", [["--print-spec", "URL"], ["--completion", "bash"], ["--man"], ["--preflight", "URL"]]
)
def test_output_that_is_no_record_is_passed_on_without_a_last_line(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def run_plainly(line: Sequence[str]) -> Loaded:
        assert not {"--json", "--events"} & set(line)
        return loaded(0, b"what the engine prints\n")

    monkeypatch.setattr(loading, "run_plainly", run_plainly)
    assert loading.load(given) == 0
    assert capfdbinary.readouterr() == (b"what the engine prints\n", b"")


@pytest.mark.parametrize("option", ["--metrics=:9464", "--live", "--server-metrics=http://h"])
def test_the_labs_options_do_not_go_with_output_that_is_no_record(option: str) -> None:
    with pytest.raises(UsageError, match="has no place in the engine's own output"):
        loading.load([option, "--print-spec", "URL"])


def test_the_specification_is_not_printed_for_several_generators() -> None:
    with pytest.raises(UsageError, match="--generators is for a load"):
        loading.load(["--generators", "2", "--print-spec", "URL"])


@pytest.mark.parametrize("mode", ["probe", "hold"])
def test_a_mode_of_the_engine_stays_the_first_word(mode: str) -> None:
    line = engine_arguments([mode, "x", "--json"], ("h",))
    assert line == [mode, "--allow", "h", "x", "--json"]


@pytest.mark.parametrize("mode", ["in-memory", "primitives", "schema"])
def test_a_mode_without_a_server_gets_no_hosts(mode: str) -> None:
    assert engine_arguments([mode, "--json"], ("h",)) == [mode, "--json"]


def test_the_word_run_is_left_out() -> None:
    given = ["-n", "1", "URL"]
    assert engine_arguments(["run", *given], ("h",)) == engine_arguments(given, ("h",))


def test_every_mode_of_the_engine_is_known() -> None:
    source = Path(__file__).parents[3] / "crates/programs/src/load/mode.rs"
    (body,) = re.findall(r"pub enum Mode {\n(.*?)^}", source.read_text("utf-8"), re.M | re.S)
    names = re.findall(r"^    ([A-Z]\w*)\(", body, re.M)
    kebab = [re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() for name in names]
    assert tuple(kebab) == MODES


def loaded(code: int, output: bytes, *lines: str) -> Loaded:
    kept = Lines()
    for line in lines:
        kept.line(line.encode())
    machine = made_run(quick=True).trials[0].runs["capacity"].machine
    error = kept.error(code)
    return Loaded(code, output, machine, error=error, conclusion=kept.conclusion)


def test_the_engines_error_is_shown_in_the_labs_form(capsys: pytest.CaptureFixture[str]) -> None:
    line = "tlslab-load: unexpected argument '-q' found; see --help: exit 2\n"
    ended = loaded(2, b"", "a line\n", line)
    assert capsys.readouterr().err == "a line\n"
    assert error_of(ended) == ("unexpected argument '-q' found", "see `tlslab load --help`")
    data = {"class": "no_tls", "message": "m; m", "remedy": "r; r"}
    assert error_of(loaded(3, json.dumps(data).encode(), line)) == ("m; m", "r; r")
    data["remedy"] = "see `tlslab-load probe HOST`"
    probing = error_of(loaded(3, json.dumps(data).encode(), line))
    assert probing == ("m; m", "see `tlslab probe HOST`")


def test_a_record_and_then_an_error_are_both_read(record: RunRecord) -> None:
    """As the engine ends if it cannot write the file of the record."""
    data = {"schema": "tlslab.error/1", "class": "output", "message": "full", "remedy": "r"}
    output = "".join(json.dumps(each) + "\n" for each in (to_json(record), data)).encode()
    assert error_of(loaded(3, output)) == ("full", "r")
    assert _record(output) == record
    assert _record(output.splitlines()[1]) is None
    assert _record(b"") is None


def test_a_warning_of_the_engine_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    line = "tlslab-load: 't' has room for 5 connections; 3 are left out\n"
    assert loaded(0, b"", line).error == ""
    assert capsys.readouterr().err == line


def test_the_engines_reason_of_its_exit_code_is_the_last_line_and_the_only_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "a verdict is against the result, see above: exit 1\n"
    ended = loaded(1, b"a table\n", "tlslab-load: a warning\n", line)
    assert capsys.readouterr().err == "tlslab-load: a warning\n"
    assert _passed_on(ended, None) == 1
    assert capsys.readouterr().err == line
    assert _passed_on(loaded(0, b"{}"), None) == 0
    assert capsys.readouterr().err == ""
    assert _passed_on(loaded(1, b"{}"), None) == 1
    assert capsys.readouterr().err == line


@pytest.fixture
def record() -> RunRecord:
    return made_run(quick=True).trials[0].runs["capacity"].record


@pytest.fixture
def machine() -> MachineUsage:
    return made_run(quick=True).trials[0].runs["capacity"].machine


def lines(record: RunRecord, machine: MachineUsage) -> dict[str, str]:
    console = Console(file=io.StringIO(), width=300)
    console.print(load_table(record, machine))
    assert isinstance(console.file, io.StringIO)
    rows = [line.split("  ", 1) for line in console.file.getvalue().splitlines()]
    return {name.strip(): value.strip() for name, value in rows}


def test_connections_lead_where_connections_were_asked_for(
    record: RunRecord, machine: MachineUsage
) -> None:
    reported = lines(record, machine)
    assert next(iter(reported)) == "connections"
    assert " connections/s (" in reported["connections"]
    assert "µs per connection" in reported["client CPU"]


def test_requests_lead_where_connections_are_kept_open(
    record: RunRecord, machine: MachineUsage
) -> None:
    outcomes = replace(record.outcomes, completed=0, in_flight_at_stop=8)
    spec = {**record.spec, "url": "https://h/", "requests_per_connection": "unlimited"}
    reported = lines(replace(record, spec=spec, outcomes=outcomes, requests=900), machine)
    assert next(iter(reported)) == "requests"
    assert "(900 requests in" in reported["requests"]
    assert reported["connections"] == "8 connections kept open"
    assert "µs per request" in reported["client CPU"]


def test_nothing_is_never_zero(record: RunRecord, machine: MachineUsage) -> None:
    nothing = replace(record.outcomes, completed=0)
    times = {name: replace(each, n=0) for name, each in record.summaries.items()}
    reported = lines(replace(record, outcomes=nothing, requests=0, summaries=times), machine)
    assert reported["connections"].startswith("- (none was completed in")
    assert reported["client CPU"] == "-"
    assert not any(name.endswith(" ms") for name in reported)


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        (15, "p50 -, p90 -, p99 -, p99.9 -, max 5.000 ms"),
        (200, "p50 1.000, p90 2.000, p99 -, p99.9 -, max 5.000 ms"),
        (8000, "p50 1.000, p90 2.000, p99 3.000, p99.9 4.000, max 5.000 ms"),
    ],
)
def test_a_quantile_of_too_few_values_is_no_value(
    record: RunRecord, machine: MachineUsage, n: int, shown: str
) -> None:
    times = {
        name: replace(each, n=n, p50_ms=1.0, p90_ms=2.0, p99_ms=3.0, p999_ms=4.0, max_ms=5.0)
        for name, each in record.summaries.items()
    }
    reported = lines(replace(record, summaries=times, clients={}), machine)
    assert shown in reported["service ms"]
    assert (f"too few of {n} values" in reported["service ms"]) == (n < 8000)


def test_a_valid_run_is_called_so_once(record: RunRecord, machine: MachineUsage) -> None:
    sentence = "valid: the generator was 12 % busy, and all 9 connections completed"
    valid = replace(record, verdicts=(Verdict("valid", sentence),))
    assert lines(valid, machine)["verdict"] == sentence
    assert _reason(0, valid) == "valid"
    late = replace(record, verdicts=(Verdict("late_arrivals", "arrivals were late"),))
    assert lines(late, machine)["verdict"] == "late_arrivals: arrivals were late"
    assert _reason(0, late) == "valid, with 1 remark above"


def test_the_labs_own_options_are_taken_out() -> None:
    given = ["--generators", "2", "-c", "9", "--on-lost-host=keep", "URL"]
    rest, own = own_options(given)
    assert rest == ["-c", "9", "URL"]
    assert own == {"--generators": "2", "--on-lost-host": "keep"}
    assert own_options(["-c", "9"]) == (["-c", "9"], {})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--generators"], "--generators needs a value"),
        (["--generators", "--json"], "--generators needs a value"),
        (["--server-metrics", "-c"], "--server-metrics needs a value"),
        (["--on-lost-host", "keep"], "needs --generators"),
    ],
)
def test_an_own_option_without_its_value_is_refused(given: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        own_options(given)


@pytest.mark.parametrize("option", ["--trace=x", "--keylog=x", "--client-key=x", "--format=csv"])
def test_what_belongs_to_one_engine_is_refused_with_several(option: str) -> None:
    with pytest.raises(UsageError, match="is for one generator"):
        pool_spec(["-c", "9", option, "URL"], ())


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


def test_a_merged_record_ends_as_the_engine_would_end(record: RunRecord) -> None:
    assert exit_code(replace(record, verdicts=(Verdict("valid", "valid"),))) == 0
    assert exit_code(replace(record, verdicts=(Verdict("host_lost", "gone"),))) == 1


def test_each_of_several_generators_has_a_row(record: RunRecord, machine: MachineUsage) -> None:
    shown = lines(made_by(record, 2, is_lost=True), machine)
    assert "clock known to 20.0 µs" in shown["generator node-0"]
    assert "lost: it died" in shown["generator node-1"]


def test_a_load_that_lost_a_generator_is_invalid_and_keeps_what_was_measured(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Losing:
        size = 1
        kept: RunRecord | None = made_by(record, 2, is_lost=True)

        def run(self, *_: Any) -> RunRecord:
            error = EngineError(
                "host_lost", "the generator b was lost: it died", "see that it runs"
            )
            raise LostInRunError(error, self.kept)

    monkeypatch.setattr(load_pool, "several_generators", lambda *_: nullcontext(Losing()))

    def run() -> Loaded:
        shown = Shown(raw=False, lines=False)
        return load_pool.run_pool({}, ("2", "fail"), Side.of(None), shown, State("load"))

    loaded = run()
    assert loaded.code == 1
    assert from_json(json.loads(loaded.output), RunRecord) == Losing.kept
    assert "the generator b was lost: it died" in capsys.readouterr().err
    Losing.kept = None
    with pytest.raises(LostInRunError):
        run()


def test_a_file_that_cannot_be_written_is_named_and_the_record_printed(
    tmp_path: Path,
    machine: MachineUsage,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    place = tmp_path / "gone" / "record.json"
    runs: list[int] = []

    def run(*_: Any) -> Loaded:
        """The folder vanishes while the load runs."""
        runs.append(1)
        shutil.rmtree(place.parent)
        return Loaded(0, b'{"measured": 1}', machine)

    monkeypatch.setattr(loading, "pool_spec", lambda *_: ({}, place))
    monkeypatch.setattr(loading, "run_pool", run)
    given = ["--generators", "2", "--output", str(place), "URL"]
    with pytest.raises(CannotRunError, match=r"cannot write .*: No such file"):
        loading.load(given)
    assert runs == []
    place.parent.mkdir()
    with pytest.raises(CannotRunError, match=r"cannot write .*: No such file"):
        loading.load(given)
    assert runs == [1]
    assert capfdbinary.readouterr().out == b'{"measured": 1}\n'
