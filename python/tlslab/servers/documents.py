"""The documents that servers serve."""

from pathlib import Path

FOLDER = "documents"
NAME = "document"
PATH = f"/{NAME}"


def write_document(folder: Path, size: int) -> Path:
    """Writes a document of N bytes into the folder's `documents`; returns the file."""
    (folder / FOLDER).mkdir(exist_ok=True)
    document = folder / FOLDER / NAME
    document.write_bytes(bytes(number % 251 for number in range(size)))
    return document
