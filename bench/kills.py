"""`make test-kills`: kill -9 at 100 random moments of one run, and the result.

Runs tests/live/test_kills.py. If the test passes, the result is added to bench/validity.json and
docs/validity.md. `--kills N` sets another number. Exit codes: 0 passed, 1 a trial was lost or
counted twice, or the run was not completed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.provenance import ROOT, made
from bench.validity_file import FILE, Kills, read
from bench.validity_page import publish
from tlslab.lab.opening import machine

TEST = Path("tests", "live", "test_kills.py")
KILLS = 100


def main() -> int:
    """Runs the test and keeps its result; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.kills")
    parser.add_argument("--kills", type=int, default=KILLS, help="kills of the one run")
    kills = parser.parse_args().kills
    by, here = made(f"python -m bench.kills --kills {kills}"), machine()
    with tempfile.TemporaryDirectory(prefix="tlslab-kills-") as name:
        kept, begun = Path(name) / "kills.json", time.monotonic()
        variables = {"TLSLAB_KILLS": f"{kills}", "TLSLAB_KILLS_FILE": str(kept)}
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", str(TEST)],
            cwd=ROOT,
            env={**os.environ, **variables},
            check=False,
        )
        if ended.returncode:
            return 1
        seconds = time.monotonic() - begun
        found = json.loads(kept.read_text("utf-8"))
    row = Kills(
        created=by.created,
        processor=str(here.get("processor", "")),
        processors=int(here.get("processors", 0)),
        kernel=str(here.get("kernel", "")),
        command=by.command,
        seconds=seconds,
        commit=by.commit,
        **found,
    )
    contents = read(FILE)
    publish(replace(contents, kills=(*contents.kills, row)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
