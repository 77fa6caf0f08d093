"""What a bench prints and keeps: its console, its bars, and files of results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from tlslab.lab.opening import machine

ROOT = Path(__file__).parent.parent

# Wide enough for every table, wherever the output goes.
console = Console(width=140, highlight=False)


@dataclass(frozen=True)
class Bar:
    """One bar: the result, the limit, and whether the whole interval meets the limit."""

    text: str
    found: str
    met: bool


def show_bars(bars: list[Bar]) -> bool:
    """Prints every bar; returns whether all are met."""
    for bar in bars:
        mark = "[green]met      [/]" if bar.met else "[red]not shown[/]"
        console.print(f"{mark} {bar.text}: {bar.found}")
    return all(bar.met for bar in bars)


def write(name: str, setting: Mapping[str, object], found: Mapping[str, object]) -> Path:
    """Writes a file with this name in a folder of its own; returns the file."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    file = ROOT / "runs" / f"{name}-{stamp}" / f"{name}.json"
    file.parent.mkdir(parents=True)
    head = {"schema": "tlslab.bench/1", "setting": dict(setting), "machine": machine()}
    file.write_text(json.dumps({**head, **found}, indent=1) + "\n", "utf-8")
    return file
