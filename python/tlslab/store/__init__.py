"""Append-only run folders and the wire formats in them."""

from tlslab.store.codec import from_json, to_json
from tlslab.store.folder import RunFolder

__all__ = ["RunFolder", "from_json", "to_json"]
