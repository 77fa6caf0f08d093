"""A run's raw results for other tools: as data frames, and as files."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from tlslab.analysis.frames import FRAMES
from tlslab.analysis.frames.frame import Column, Frame, Value
from tlslab.domain.command_line import ExportFormat
from tlslab.domain.errors import CannotRunError, UsageError
from tlslab.domain.run import RunContents
from tlslab.domain.run_faults import run_faults
from tlslab.domain.run_record import load_histograms, load_summaries
from tlslab.domain.trial import Trial
from tlslab.lab.results import read_contents
from tlslab.lab.store import RunFolder
from tlslab.report import resume_command


def arrow_table(frame: Frame) -> Any:
    """A pyarrow.Table with the columns' kinds; unit and meaning are the metadata of each field.

    Raises CannotRunError if pyarrow is missing.
    """
    pa = _pyarrow()
    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "truth": pa.bool_(),
    }
    schema = pa.schema(
        [
            pa.field(each.name, types[each.kind], metadata={"unit": each.unit, "about": each.about})
            for each in frame.columns
        ]
    )
    columns = zip(*frame.rows, strict=True) if frame.rows else ((),) * len(frame.columns)
    arrays = [
        pa.array(values, types[column.kind])
        for column, values in zip(frame.columns, columns, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def write_parquet(frame: Frame, path: Path) -> None:
    """Writes one frame. Raises CannotRunError if pyarrow is missing."""
    table = arrow_table(frame)
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path)


def write_csv(frame: Frame, path: Path) -> None:
    """Writes one frame (RFC 4180): a line of names, numbers in full, an empty field for None."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in frame.columns])
        for row in frame.rows:
            pairs = zip(frame.columns, row, strict=True)
            writer.writerow([_field(column, value) for column, value in pairs])


def _field(column: Column, value: Value) -> str:
    if value is None:
        return ""
    if column.kind == "truth":
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise CannotRunError(
            "pyarrow is not installed", "pip install 'pyarrow>=18', or export as CSV"
        ) from None
    return pyarrow


# The times are nanoseconds, the table has milliseconds.
_NS_PER_MS = 1e6

_DEVIATION = re.compile(rb"(StdDeviation\s*=\s*)([\d.]+)")


def write_hgrm(encoded: Sequence[str], path: Path) -> None:
    """Writes the percentiles of all values of some histograms in milliseconds.

    `encoded` are HdrHistograms V2 in base64, in nanoseconds; they are added without loss.
    """
    whole = HdrHistogram.decode(encoded[0])
    for text in encoded[1:]:
        whole.decode_and_add(text)
    table = io.BytesIO()
    whole.output_percentile_distribution(table, _NS_PER_MS)

    def scaled(found: re.Match[bytes]) -> bytes:
        # The library leaves the deviation in the histogram's own unit.
        return found[1] + b"%12.*f" % (whole.significant_figures, float(found[2]) / _NS_PER_MS)

    path.write_bytes(_DEVIATION.sub(scaled, table.getvalue()))


# Factors of a capacity experiment's steps that number the repetitions of a load.
REPETITION = ("visit", "repetition")


class OpenedRun:
    """A run folder's raw results.

    Each method returns a `pyarrow.Table`, which pandas and polars take over without a copy
    (`.to_pandas()`, `polars.from_arrow(...)`); the fields' metadata has unit and meaning of each
    column. All need pyarrow: `pip install 'pyarrow>=18'`.
    """

    def __init__(self, contents: RunContents) -> None:
        self.contents = contents

    def trials(self) -> Any:
        """A row for each trial: its factors, whether it may be used, and what it measured."""
        return self._table("trials")

    def runs(self) -> Any:
        """A row for each run of the engine: counts, processor times, bytes, quantiles of times."""
        return self._table("runs")

    def seconds(self) -> Any:
        """A row for each slice of each run's measurement, most of them a second long."""
        return self._table("seconds")

    def histograms(self) -> Any:
        """A row for each value that occurred in a histogram of a run, with its count."""
        return self._table("histograms")

    def hosts(self) -> Any:
        """A row for each generator of a run that several made: its part, clock, verdicts."""
        return self._table("hosts")

    def benchmarks(self) -> Any:
        """A row for each counted iteration of a benchmark without a server."""
        return self._table("benchmarks")

    def _table(self, name: str) -> Any:
        return arrow_table(FRAMES[name](self.contents))


def open_run(path: str | Path) -> OpenedRun:
    """Opens a run folder. Raises UsageError, StoreError if it is not a run folder or damaged."""
    return OpenedRun(read_contents(RunFolder.open(Path(path))))


def export(folder: Path, format_: ExportFormat, out: Path) -> list[Path]:
    """Writes a run's raw results into the folder `out`; returns the files written.

    As `parquet` and `csv`: a file for each table that has rows. As `hgrm`: a file for each
    histogram of each repeated load, over its runs without faults, with an index of loads. Raises
    UsageError, StoreError, and CannotRunError if pyarrow is missing or `out` cannot be written.
    """
    contents = read_contents(RunFolder.open(folder))
    if not contents.trials:
        raise UsageError(
            f"{folder} holds no finished trial", f"`{resume_command(folder)}` goes on with it"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise UsageError(f"{out} is not empty", "name a new folder with --out")
        return list(_WRITERS[format_](contents, out))
    except OSError as error:
        raise CannotRunError(
            f"cannot write to {out}: {error.strerror or error}",
            "make room, or choose another folder with --out",
        ) from None


def _tables(contents: RunContents, out: Path, suffix: str) -> Iterable[Path]:
    write = write_parquet if suffix == "parquet" else write_csv
    for name, make in FRAMES.items():
        frame = make(contents)
        if frame.rows:
            path = out / f"{name}.{suffix}"
            write(frame, path)
            yield path


def _hgrm(contents: RunContents, out: Path) -> Iterable[Path]:
    found = _histograms(contents)
    if not found:
        raise UsageError("this run has no histograms", "export it as parquet or csv")
    loads = list(dict.fromkeys(load for load, _, _ in found))
    index = out / "loads.txt"
    index.write_text("".join(f"{n}\t{load}\n" for n, load in enumerate(loads)), "utf-8")
    yield index
    for (load, run, name), encoded in found.items():
        path = out / f"{loads.index(load)}-{_plain(run)}-{_plain(name)}.hgrm"
        write_hgrm(encoded, path)
        yield path


def _histograms(contents: RunContents) -> Mapping[tuple[str, str, str], list[str]]:
    """Histograms with values, from usable runs, by load, run and name."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for trial in contents.trials:
        for kind, run in trial.runs.items():
            if list(run_faults(kind, run.record)):
                continue
            for name, encoded in load_histograms(run.record).items():
                if load_summaries(run.record)[name].n:
                    found.setdefault((_load(trial), kind, name), []).append(encoded)
    return found


def _load(trial: Trial) -> str:
    """The factors that a trial shares with its repetitions, and with no other trial."""
    levels = trial.factors.items()
    return ",".join(f"{name}={level}" for name, level in levels if name not in REPETITION)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


_WRITERS = {
    ExportFormat.parquet: lambda contents, out: _tables(contents, out, "parquet"),
    ExportFormat.csv: lambda contents, out: _tables(contents, out, "csv"),
    ExportFormat.hgrm: _hgrm,
}
