"""Stores the results of the bench: one JSON file in a new folder under runs/."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from bench.floor import FULL, LEAN
from bench.results import FULL_NAME, LEAN_NAME, Results, Sample
from bench.verify import Verified
from tlslab.lab.environment import machine

ROOT = Path(__file__).parent.parent


def keep(results: Results, verified: Mapping[str, Verified], setting: Mapping[str, object]) -> Path:
    """Writes all results; returns the file. `setting` has the settings of the bench."""
    found = {"verified": {name: asdict(one) for name, one in verified.items()}, **as_json(results)}
    return write("bench", setting, found)


def write(name: str, setting: Mapping[str, object], found: Mapping[str, object]) -> Path:
    """Writes a file with this name in a folder of its own; returns the file."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    file = ROOT / "runs" / f"{name}-{stamp}" / f"{name}.json"
    file.parent.mkdir(parents=True)
    head = {"schema": "tlslab.bench/1", "setting": dict(setting), "machine": machine()}
    file.write_text(json.dumps({**head, **found}, indent=1) + "\n", "utf-8")
    return file


def as_json(results: Results) -> dict[str, object]:
    """Every run by generator and block, the floors by block, and the derived figures."""
    return {
        "runs": {
            name: {str(block): as_run(sample) for block, sample in by_block.items()}
            for name, by_block in results.samples.items()
        },
        "floor_us": {str(block): dict(floor.terms) for block, floor in results.floors.items()},
        "floor_of": {"lean": dict(LEAN), "full": dict(FULL)},
        "cpu_us_per_connection": {name: asdict(results.cost(name)) for name in results.samples},
        "over_lean": _over(results, LEAN_NAME),
        "over_full": _over(results, FULL_NAME),
        "over_floor": {
            "lean": asdict(results.over_floor(LEAN_NAME, LEAN)),
            "full": asdict(results.over_floor(FULL_NAME, FULL)),
        },
        "bars": [asdict(bar) for bar in results.bars()],
    }


def _over(results: Results, ours: str) -> dict[str, object]:
    others = (name for name in results.samples if name != ours)
    return {name: asdict(results.over(name, ours)) for name in others}


def as_run(sample: Sample) -> dict[str, object]:
    """One run; processor time in microseconds, of the whole process and of its workers alone."""
    return {
        "cpu_us_per_connection": sample.cpu_us,
        "user_us": sample.run.user_us,
        "system_us": sample.run.system_us,
        "workers_us": sample.counted.own_cpu_us,
        "completed": sample.counted.completed,
        "failed": sample.counted.failed,
        "seconds": sample.run.seconds,
        "busy": {**asdict(sample.run.busy), "generator_process": sample.run.own_share},
    }
