"""`tlslab export` and `tlslab.open_run`, on a made-up run folder."""

import builtins
import csv
import errno
import json
import os
from pathlib import Path
from typing import Any

import polars
import pyarrow.parquet
import pytest

import tlslab
from factories.folder import written
from factories.run import made_run
from tlslab import cli
from tlslab.analysis.frames import FRAMES
from tlslab.domain.distribution import Distribution
from tlslab.domain.run import RunContents
from tlslab.domain.run_record import load_histograms
from tlslab.experiment import load, with_levels
from tlslab.lab import export

pytestmark = pytest.mark.slow


@pytest.fixture(name="contents", scope="module")
def _contents() -> RunContents:
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256")}
    return made_run(experiment=with_levels(load("groups", "quick"), few))


@pytest.fixture(name="folder")
def _folder(contents: RunContents, tmp_path: Path) -> Path:
    return written(tmp_path / "run", contents)


def test_the_frames_go_to_pandas_and_polars(folder: Path, contents: RunContents) -> None:
    run = tlslab.open_run(folder)
    trials = run.trials()
    assert trials.num_rows == len(contents.trials)
    assert trials.schema.field("connections_per_s").metadata[b"unit"] == b"1/s"
    rates = polars.DataFrame(trials).group_by("group").agg(polars.col("connections_per_s").mean())
    by_group = trials.to_pandas().groupby("group").connections_per_s.mean()
    assert {row[0]: pytest.approx(row[1]) for row in rates.iter_rows()} == dict(by_group)
    for name, make in FRAMES.items():
        assert getattr(run, name)().num_rows == len(make(contents).rows)


def test_csv_and_parquet_hold_the_same(folder: Path, tmp_path: Path) -> None:
    assert cli.run(["export", str(folder)]) == 0
    assert cli.run(["export", str(folder), "--format", "parquet", "--out", f"{tmp_path}/p"]) == 0
    for name in ("trials", "runs", "seconds", "histograms"):
        table = pyarrow.parquet.read_table(tmp_path / "p" / f"{name}.parquet")
        with (folder / "export-csv" / f"{name}.csv").open(newline="") as file:
            head, *rows = csv.reader(file)
        assert head == table.column_names
        assert len(rows) == table.num_rows > 0
        expected = [_shown(value) for value in table.column(len(head) - 1).to_pylist()]
        assert [row[-1] for row in rows] == expected
    assert not (tmp_path / "p" / "benchmarks.parquet").exists()


def _shown(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)


def test_percentiles_are_those_of_the_histograms_added(
    folder: Path, contents: RunContents, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "h"
    assert cli.run(["export", str(folder), "--format", "hgrm", "--out", str(out), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert sorted(files) == sorted(str(path) for path in out.iterdir())
    number, load = (out / "loads.txt").read_text().splitlines()[0].split("\t")
    trials = [t for t in contents.trials if ",".join(map("=".join, t.factors.items())) == load]
    parts = [load_histograms(t.runs["capacity"].record)["handshake"] for t in trials]
    whole = Distribution.merge([Distribution.decode(part) for part in parts])
    table = (out / f"{number}-capacity-handshake.hgrm").read_text()
    assert f"TotalCount     = {whole.n:12.3f}" in table
    mean, deviation = table.split("Mean    =")[1].split("]")[0].split(", StdDeviation   =")
    assert float(mean) == pytest.approx(whole.mean(), rel=2e-3)
    assert float(deviation) == pytest.approx(whole.sd(), rel=2e-3)


def test_export_refuses_folders_that_it_cannot_read_or_fill(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["export", str(tmp_path)]) == 3
    assert cli.run(["export", str(folder), "--out", str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
    (folder / "trials.jsonl").unlink()
    assert cli.run(["export", str(folder)]) in (2, 3)


def test_a_folder_that_cannot_be_written_is_no_wrong_usage(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert cli.run(["export", str(folder), "--out", str(tmp_path / "file" / "x")]) == 3
    assert "choose another folder with --out" in capsys.readouterr().err


def test_a_full_disk_is_no_wrong_usage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(export, "write_csv", full)
    assert cli.run(["export", str(folder)]) == 3
    assert "No space left on device" in capsys.readouterr().err


def test_without_pyarrow_the_remedy_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return known(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert cli.run(["export", str(folder), "--format", "parquet"]) == 3
    assert "pip install 'pyarrow>=18'" in capsys.readouterr().err
