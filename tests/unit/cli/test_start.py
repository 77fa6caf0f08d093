"""The imports of a command before it works: `--help` imports no numpy."""

import os
import re
import subprocess
import sys

import pytest

# Packages that take long to import, and that only the work needs.
HEAVY = {
    "cattrs", "cryptography", "dpkt", "hdrh", "jinja2", "numpy", "prometheus_client", "psutil",
    "scipy",
}  # fmt: skip


# Modules of the results, which a command that only shows its help does not need: the methods of
# their dataclasses take half of the time of its start.
RESULTS = {"tlslab.domain.finding", "tlslab.contract.probe", "tlslab.contract.record"}


def imported(*arguments: str, **variables: str) -> set[str]:
    """The packages, and the modules of tlslab, that a command has imported by its end."""
    line = [sys.executable, "-X", "importtime", "-m", "tlslab", *arguments]
    environment = {**os.environ, **variables}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    modules = re.findall(r"^import time: .*\| +(\S+)$", done.stderr, re.MULTILINE)
    assert "tlslab.cli.app" in modules
    return {name if name.startswith("tlslab") else name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"]], ids=" ".join)
def test_help_of_a_command_imports_nothing_heavy(arguments: list[str]) -> None:
    assert imported(*arguments) & (HEAVY | RESULTS) == set()


@pytest.mark.parametrize(
    "line", ["tlslab ru", "tlslab run gr", "tlslab run --target ng", "tlslab grade --policy rf"]
)
def test_completion_takes_nothing_heavy(line: str) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert imported(_TLSLAB_COMPLETE="complete_bash", **words) & (HEAVY | RESULTS) == set()


def test_a_command_that_works_takes_what_it_needs() -> None:
    """Imports are detected if there are any; those for a watched run are not made."""
    found = imported("run", "groups", "--quick", "--dry-run")
    assert found >= {"numpy", "scipy", "jinja2", *RESULTS}
    assert "prometheus_client" not in found
