#!/usr/bin/env python3
"""Compares the policies' data files with the date and the hash that each of them contains.

    policies.py                 prints differences; the exit code is 1 if there are any
    policies.py --record NAME...

`--record` confirms that the files were compared with their sources today: it writes today's date
into `as_of`, and the hash of the content into `sha256`. An edit without a new date fails a test.
"""

import re
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from tlslab.advice.policy import GRADING, digest  # noqa: E402

FOLDER = ROOT / "python" / "tlslab" / "advice" / "policies"


def record(name: str) -> None:
    """Writes today's date and the hash into a data file."""
    path = FOLDER / f"{name}.toml"
    today = datetime.now(UTC).date().isoformat()
    text = re.sub(r'^as_of = ".*"$', f'as_of = "{today}"', path.read_text("utf-8"), flags=re.M)
    text = re.sub(r'^sha256 = ".*"$', f'sha256 = "{digest(tomllib.loads(text))}"', text, flags=re.M)
    path.write_text(text, "utf-8")


def differing() -> list[str]:
    """The policies whose content does not match their hash."""
    found = []
    for name in GRADING:
        data = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
        if data.get("sha256") != digest(data):
            found.append(name)
    return found


def main() -> int:
    """The command line, as described in the module's docstring."""
    if sys.argv[1:2] == ["--record"]:
        for name in sys.argv[2:] or GRADING:
            record(name)
        return 0
    names = differing()
    for name in names:
        sys.stdout.write(
            f"{name}: changed after its date; hold it against its source and --record\n"
        )
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
