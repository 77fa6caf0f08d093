"""Names of functions that a stack does not show, read from the call site in the program.

Stripped libraries keep only the names of exported functions. Compilers end many of these functions
with a jump to the function that does the work; the exported function is then no longer on the
stack. The instruction before the caller's return address still names the called function. x86-64.
"""

import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

_CALL = 0xE8
_CALL_SLOT = b"\xff\x15"
_JUMP_SLOT = b"\xff\x25"
_ENDBR64 = b"\xf3\x0f\x1e\xfa"
_BND = b"\xf2"

# ELF (System V gABI): section types, and the machine.
_RELA, _DYNSYM, _X86_64 = 4, 11, 62
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC

# Larger files are no libraries of a server.
_MOST_BYTES = 400_000_000


class Program:
    """A program or shared library, read as far as calls need it; empty for any other file."""

    def __init__(self, path: Path) -> None:
        self._data = _read(path)
        self._known: dict[int, str] = {}

    def called_before(self, place: int) -> str:
        """The exported function called by the instruction before this file offset; or empty."""
        if not self._data:
            return ""
        if place not in self._known:
            try:
                self._known[place] = self._called(place)
            except (struct.error, ValueError, IndexError):
                self._known[place] = ""  # truncated, or not what its header says
        return self._known[place]

    def _called(self, place: int) -> str:
        if not 6 <= place <= len(self._data):
            return ""
        here = self._address(place)
        if self._data[place - 6 : place - 4] == _CALL_SLOT:
            return self._slots.get(here + self._number(place - 4), "")
        if self._data[place - 5] != _CALL:
            return ""
        target = here + self._number(place - 4)
        return self._functions.get(target) or self._through_plt(target)

    def _through_plt(self, target: int) -> str:
        """The function for this entry of the procedure linkage table."""
        start = place = self._offset(target)
        if start is None or place is None:
            return ""
        if self._data[place : place + 4] == _ENDBR64:
            place += 4
        if self._data[place : place + 1] == _BND:
            place += 1
        if self._data[place : place + 2] != _JUMP_SLOT or place + 6 > len(self._data):
            return ""
        return self._slots.get(target + place - start + 6 + self._number(place + 2), "")

    def _number(self, place: int) -> int:
        return int(struct.unpack_from("<i", self._data, place)[0])

    def _address(self, place: int) -> int:
        for offset, address, size in self._segments:
            if offset <= place < offset + size:
                return place - offset + address
        return place

    def _offset(self, address: int) -> int | None:
        for offset, start, size in self._segments:
            if start <= address < start + size:
                return address - start + offset
        return None

    @cached_property
    def _segments(self) -> list[tuple[int, int, int]]:
        """Offset, address and size of the loaded segments (PT_LOAD)."""
        start, size, count = struct.unpack_from("<Q14xHH", self._data, 32)
        found = []
        for number in range(count):
            kind, _, offset, address, _, length = struct.unpack_from(
                "<IIQQQQ", self._data, start + number * size
            )
            if kind == 1:
                found.append((offset, address, length))
        return found

    def _sections(self, kind: int) -> Iterator[tuple[int, int, int]]:
        """Offset, size and link of the sections of a type."""
        start = struct.unpack_from("<Q", self._data, 40)[0]
        size, count = struct.unpack_from("<HH", self._data, 58)
        for number in range(count):
            head = struct.unpack_from("<IIQQQQI", self._data, start + number * size)
            if head[1] == kind:
                yield head[4], head[5], head[6]

    @cached_property
    def _symbols(self) -> list[tuple[str, int, int]]:
        """Name, type and address of the dynamic symbols, in their order."""
        found = []
        start = struct.unpack_from("<Q", self._data, 40)[0]
        size = struct.unpack_from("<H", self._data, 58)[0]
        for offset, length, link in self._sections(_DYNSYM):
            names = struct.unpack_from("<IIQQQQ", self._data, start + link * size)[4]
            for place in range(offset, offset + length, 24):
                name, info, _, _, address = struct.unpack_from("<IBBHQ", self._data, place)
                end = self._data.index(b"\0", names + name)
                text = self._data[names + name : end].decode("ascii", "replace")
                found.append((text, info & 15, address))
        return found

    @cached_property
    def _functions(self) -> dict[int, str]:
        """The exported functions by address."""
        return {a: name for name, kind, a in self._symbols if a and kind in _FUNCTIONS}

    @cached_property
    def _slots(self) -> dict[int, str]:
        """The functions behind the slots of the global offset table, by the slot's address."""
        found = {}
        for offset, length, _ in self._sections(_RELA):
            for place in range(offset, offset + length, 24):
                slot, info = struct.unpack_from("<QQ", self._data, place)
                symbol = info >> 32
                if 0 < symbol < len(self._symbols):
                    found[slot] = self._symbols[symbol][0]
        return found


def _read(path: Path) -> bytes:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return b""
        data = path.read_bytes()
    except OSError:
        return b""
    is_elf = data[:6] == b"\x7fELF\x02\x01" and len(data) > 64
    return data if is_elf and struct.unpack_from("<H", data, 18)[0] == _X86_64 else b""
