"""Long texts in lines of JSON: compressed (RFC 1950), then base64 (RFC 4648)."""

import base64
import binascii
import zlib


def pack(text: str) -> str:
    """The text as a word in ASCII; empty for an empty text."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode() if text else ""


def unpack(word: str) -> str:
    """The original text. Raises ValueError for a word that `pack` did not make."""
    try:
        return zlib.decompress(base64.b64decode(word, validate=True)).decode() if word else ""
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"not a packed text: {error}") from None
