"""`tlslab history`: its exit codes, its output, and folders that are damaged or not run folders."""

import json
import shutil
from pathlib import Path

import pytest

from factories.history import write_run
from tlslab.cli import run

SLOWER_FROM = 7
RUNS = 10

RATE = "connections_per_s"
COST = "server_cpu_us_per_connection"


@pytest.fixture(name="runs", scope="module")
def _runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    for number in range(RUNS):
        slower = 1.1 if number >= SLOWER_FROM else 1.0
        write_run(folder / f"run-{number:02}", number, slower)
    (folder / "notes.txt").write_text("not a run")
    (folder / "compared").mkdir()
    return folder


def some(runs: Path, *numbers: int) -> list[str]:
    return [str(runs / f"run-{number:02}") for number in numbers]


def test_a_slowdown_in_force_ends_with_1(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", str(runs)]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("1 of 2 cells changed: TLS 1.3, ECDSA P-256, P-256: new conn")
    assert "between run-06 (2026-03-07 09:26) and run-07 (2026-03-08 09:26)" in said.out
    assert said.err.endswith("1 cell slower, in force at the newest run: exit 1\n")


def test_without_a_change_it_ends_with_0(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", *some(runs, *range(SLOWER_FROM))]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("No change was found in 2 cells. A lasting step of")
    assert said.err == "no slowdown found that is in force at the newest run: exit 0\n"


def test_too_few_runs_end_with_4(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", *some(runs, 0, 1, 2)]) == 4
    said = capsys.readouterr()
    assert said.out.startswith("Too few runs: a change needs 6 usable runs of a cell")
    assert said.err == "cannot tell: fewer than 6 usable runs of each cell: exit 4\n"


def test_json_is_the_history(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", str(runs), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["verdict"]) == ("tlslab.history/1", "slower")
    assert [each["name"] for each in found["runs"]] == [f"run-{n:02}" for n in range(RUNS)]
    assert {len(each["values"]) for each in found["cells"]} == {RUNS}
    assert {each["estimate"] for each in found["cells"]} > {RATE, COST}
    assert {len(each["changes"]) for each in found["cells"]} == {0, 1}


@pytest.mark.parametrize(
    ("form", "first"),
    [
        ("html", "<!doctype html>"),
        ("markdown", "## History of 10 runs"),
        ("csv", "history,cell,estimate,words,unit,run,began,value,level,changed"),
        ("json", '{"verdict": "slower"'),
        ("text", "1 of 2 cells changed"),
    ],
)
def test_every_form_is_printed_and_ends_alike(
    runs: Path, capfd: pytest.CaptureFixture[str], form: str, first: str
) -> None:
    assert run(["history", str(runs), "--format", form]) == 1
    assert capfd.readouterr().out.startswith(first)


def test_the_page_is_written_where_it_is_wanted(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "pages" / "history.html"
    assert run(["history", str(runs), "--out", str(page)]) == 1
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert f"page: {page}" in capsys.readouterr().err


def test_a_copy_of_a_run_does_not_count_twice(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(runs / "run-03", tmp_path / "copy")
    assert run(["history", str(runs), str(runs / "run-03"), str(tmp_path / "copy")]) == 1
    said = capsys.readouterr()
    assert "warning: copy is left out: it is the run of run-03 once more" in said.err
    assert f"{RUNS} runs from" in said.out


def test_runs_of_the_same_name_keep_apart(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(runs / "run-03", tmp_path / "other" / "run-04")
    given = [*some(runs, 0, 1, 2, 4, 5, 6), str(tmp_path / "other" / "run-04")]
    run(["history", *given, "--json"])
    names = [each["name"] for each in json.loads(capsys.readouterr().out)["runs"]]
    assert names[3:5] == ["other/run-04", f"{runs.name}/run-04"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("environment.json", "{", "is left out"),
        ("environment.json", '{"schema": "tlslab.environment/9"}', "tlslab.environment/9"),
        ("trials.jsonl", "", "is left out"),
        ("experiment.toml", "name = 3", "is left out"),
        ("plan.json", "[" * 100_000, "is left out"),
    ],
)
def test_a_run_that_cannot_be_read_is_left_out(
    runs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    words: str,
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(runs / "run-03", broken)
    (broken / name).write_text(text)
    assert run(["history", *some(runs, 0, 1, 2, 4, 5, 6), str(broken)]) == 0
    said = capsys.readouterr().err
    assert "warning: broken is left out" in said
    assert words in said
    assert run(["history", str(broken)]) == 3
    assert "error: none of the runs can be used" in capsys.readouterr().err


def test_a_time_that_is_none_leaves_the_run_out(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(runs / "run-03", broken)
    stored = json.loads((broken / "environment.json").read_text())
    (broken / "environment.json").write_text(json.dumps({**stored, "created": "\x1b[2Jnow"}))
    assert run(["history", str(broken)]) == 3
    said = capsys.readouterr().err
    assert "'created': no time" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "missing argument"),
        (["nowhere"], 3, "nowhere: there is no such folder"),
        ([".", "--smallest", "2"], 2, "--smallest 2: not a percentage"),
        ([".", "--out", "page.txt"], 2, "--out page.txt: not a page"),
    ],
)
def test_wrong_wishes_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["history", *arguments]) == code
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_a_folder_without_runs_says_what_to_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["history", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "is no run folder, and holds none" in said
    assert "help: give run folders, or a folder with run folders directly below it" in said


def spoiled(runs: Path, path: Path) -> Path:
    """A copy of a run of which one byte of a histogram was changed."""
    shutil.copytree(runs / "run-03", path)
    file = path / "trials.jsonl"
    text = file.read_text()
    place = text.index('"service":"') + 60
    file.write_text(text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :])
    return path


def test_a_gate_does_not_take_damage_for_a_slowdown(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = spoiled(runs, tmp_path / "broken")
    assert run(["compare", str(runs / "run-03"), str(broken), "--gate", "3%"]) == 3
    assert "the histogram 'service' is damaged" in capsys.readouterr().err


def test_a_run_with_a_damaged_histogram_leaves_the_others_in(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = spoiled(runs, tmp_path / "broken")
    assert run(["history", *some(runs, *range(SLOWER_FROM)), str(broken)]) == 0
    said = capsys.readouterr()
    assert "warning: broken is left out" in said.err
    assert "is damaged" in said.err
    assert said.out.startswith("No change was found in 2 cells.")
