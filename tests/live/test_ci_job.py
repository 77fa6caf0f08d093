"""The job script of docs/ci, run for real: two servers of the same version pass its gate."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tlslab.lab.programs import require_program

ROOT = Path(__file__).parents[2]
GATE = ROOT / "docs" / "ci" / "gate.sh"

# Few and short measurements on a machine that other tests use: what an A/A may differ by.
WIDE = "100%"

SHORT = ("--set", "tls=1.3", "--set", "key=ecdsa-p256", "--set", "group=X25519")
BLOCKS = 5


@contextmanager
def reference_server(folder: Path, name: str, *options: str) -> Iterator[str]:
    """A reference server; its URL. `folder/NAME.pem` is the authority of its certificates."""
    program = require_program("tlslab-serve")
    authority = folder / f"{name}.pem"
    command = [program, "--ca-out", str(authority), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ready = json.loads(server.stdout.readline())
            yield f"https://localhost:{ready['address'].rpartition(':')[2]}/bytes/4788"
        finally:
            server.terminate()


def gated(
    folder: Path, head: tuple[str, ...] = (), gate: str = WIDE
) -> subprocess.CompletedProcess[str]:
    """The script on two fresh servers; `head`: options of the one with the change."""
    with ExitStack() as stack:
        base_url = stack.enter_context(reference_server(folder, "base"))
        head_url = stack.enter_context(reference_server(folder, "head", *head))
        both = folder / "both.pem"
        both.write_text("".join((folder / f"{n}.pem").read_text() for n in ("base", "head")))
        bin_folder = str(Path(sys.executable).parent)
        return subprocess.run(
            [str(GATE), "--ca", str(both), *SHORT, "--blocks", f"{BLOCKS}", "--seconds", "0.5"],
            env={
                **os.environ,
                "PATH": f"{bin_folder}:{os.environ['PATH']}",
                "BASE_URL": base_url,
                "HEAD_URL": head_url,
                "GATE": gate,
                "RUNS": str(folder / "runs"),
                "TMPDIR": str(folder),
            },
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )


def test_two_servers_of_the_same_version_pass(tmp_path: Path) -> None:
    ended = gated(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    # Either excluded or said to be open: never slower.
    assert "slower by more than" not in ended.stderr
    summary = json.loads((tmp_path / "runs" / "compared" / "summary.json").read_text())
    rates = [each for each in summary["comparisons"] if each["estimate"] == "connections_per_s"]
    assert len(rates) == 1
    for side in ("base", "head"):
        trials = (tmp_path / "runs" / side / "trials.jsonl").read_text().splitlines()
        assert len(trials) == BLOCKS
    assert history_of(tmp_path / "runs") == (4, {"base", "head"})


def history_of(runs: Path) -> tuple[int, set[str]]:
    """The exit code of the history of a folder's runs, and the names of these."""
    ended = subprocess.run(
        [sys.executable, "-m", "tlslab", "history", str(runs), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, {run["name"] for run in json.loads(ended.stdout)["runs"]}


@pytest.mark.parametrize("missing", ["BASE_URL", "HEAD_URL"])
def test_without_its_servers_the_script_says_what_it_needs(missing: str) -> None:
    given = {"BASE_URL": "https://localhost:1/", "HEAD_URL": "https://localhost:1/"}
    del given[missing]
    ended = subprocess.run(
        [str(GATE)],
        env={"PATH": os.environ["PATH"], **given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert f"{missing}: the URL of the server" in ended.stderr
