"""The modules that the code map of ARCHITECTURE.md names exist at the named places."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The start of a list of the map, and an entry of a list: the modules, and their purpose.
LIST = re.compile(r"`((?:crates|python)/[a-z/]*)`:")
ENTRY = re.compile(r"(?:\| (.+?) \||- (.+?):) (.+)")

# A module's name, as a path in small letters.
NAME = re.compile(r"`([a-z][a-z0-9_-]*(?:/[a-z0-9_-]+)*/?(?:\.(?:py|rs))?)`")

# Names of foreign crates in the map.
OTHERS = {"aws-lc-rs"}


def named() -> Iterator[tuple[Path, str]]:
    """Each module that the map names, and the folder that must contain it."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    folder = ROOT
    for line in text.partition("## Code map\n")[2].partition("\n## ")[0].splitlines():
        if begins := LIST.match(line):
            folder = ROOT / begins[1]
        elif entry := ENTRY.match(line):
            subjects = NAME.findall(entry[1] or entry[2])
            yield from ((folder, name) for name in subjects)
            own = next((folder / name for name in subjects if (folder / name).is_dir()), folder)
            yield from ((own, name) for name in NAME.findall(entry[3]))


def is_there(folder: Path, name: str) -> bool:
    path = name.removesuffix("/")
    return any(found for end in ("", ".py", ".rs") for found in folder.rglob(path + end))


def test_every_module_that_the_code_map_names_is_there() -> None:
    all_named = [(folder, name) for folder, name in named() if name not in OTHERS]
    assert len(all_named) > 100
    missing = [
        f"{folder.relative_to(ROOT)}: {name}"
        for folder, name in all_named
        if not is_there(folder, name)
    ]
    assert missing == []
