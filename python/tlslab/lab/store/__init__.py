"""Append-only run folders and the wire formats in them."""

from tlslab.domain.codec import from_json, to_json
from tlslab.lab.store.folder import RunFolder
from tlslab.lab.store.several import run_folders, short_names

__all__ = ["RunFolder", "from_json", "run_folders", "short_names", "to_json"]
