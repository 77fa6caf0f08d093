"""Several run folders, given one by one or as the folder that holds them."""

from collections.abc import Sequence
from pathlib import Path

from tlslab.domain.errors import StoreError
from tlslab.lab.store.folder import PLAN

_REMEDY = "give run folders, or a folder with run folders directly below it"


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """The run folders among the paths and directly below them, each once, in their order.

    Raises StoreError for a path that neither is a run folder nor holds one.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for folder in _below(path):
            found.setdefault(folder.resolve(), folder)
    return list(found.values())


def _below(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            raise StoreError(f"{path}: there is no such folder", _REMEDY)
        if (path / PLAN).is_file():
            return [path]
        below = sorted(each for each in path.iterdir() if _may_hold_run(each))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from None
    if not below:
        raise StoreError(f"{path} is no run folder, and holds none", _REMEDY)
    return below


def _may_hold_run(folder: Path) -> bool:
    """Whether a run is there; also true where that cannot be seen, which `open` then reports."""
    try:
        return (folder / PLAN).is_file()
    except OSError:
        return True


def short_names(folders: Sequence[Path]) -> list[str]:
    """A name for each folder: its own, with as many parents as make it distinct."""
    parts = [folder.resolve().parts[1:] or ("/",) for folder in folders]
    names = []
    for own in parts:
        length = 1
        while length < len(own) and sum(each[-length:] == own[-length:] for each in parts) > 1:
            length += 1
        names.append("/".join(own[-length:]))
    return names
