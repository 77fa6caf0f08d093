"""Names of functions that a stack does not show, read from the call site in the program.

Stripped libraries keep only the names of exported functions. Compilers end many of these functions
with a jump to the function that does the work; the exported function is then no longer on the
stack. The instruction before the caller's return address still names the called function. x86-64.
"""

import io
import struct
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

_CALL = 0xE8
_CALL_SLOT = b"\xff\x15"
_JUMP_SLOT = b"\xff\x25"
_ENDBR64 = b"\xf3\x0f\x1e\xfa"
_BND = b"\xf2"

# STT_FUNC and STT_GNU_IFUNC, by pyelftools' names.
_FUNCTIONS = ("STT_FUNC", "STT_LOOS")

# Larger files are no libraries of a server.
_MOST_BYTES = 400_000_000


class Program:
    """A program or shared library, read as far as calls need it; empty for any other file."""

    def __init__(self, path: Path) -> None:
        self._data = b""
        # Offset, address and size of the loaded segments.
        self._segments: list[tuple[int, int, int]] = []
        # The exported functions by address, and those behind the slots of the global offset table,
        # by the slot's address.
        self._functions: dict[int, str] = {}
        self._slots: dict[int, str] = {}
        try:
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                self._read(path.read_bytes())
        except Exception:  # pyelftools may raise any exception for a file that is truncated.
            self._data = b""

    def _read(self, data: bytes) -> None:
        elf = ELFFile(io.BytesIO(data))
        if elf["e_machine"] != "EM_X86_64":
            return
        loaded = elf.iter_segments("PT_LOAD")
        self._segments = [(each["p_offset"], each["p_vaddr"], each["p_filesz"]) for each in loaded]
        symbols = [
            symbol
            for table in elf.iter_sections("SHT_DYNSYM")
            if isinstance(table, SymbolTableSection)
            for symbol in table.iter_symbols()
        ]
        for symbol in symbols:
            if symbol["st_value"] and symbol["st_info"]["type"] in _FUNCTIONS:
                self._functions[symbol["st_value"]] = symbol.name
        tables = elf.iter_sections("SHT_RELA")
        relocated = (each for each in tables if isinstance(each, RelocationSection))
        for relocation in (each for table in relocated for each in table.iter_relocations()):
            if 0 < relocation["r_info_sym"] < len(symbols):
                self._slots[relocation["r_offset"]] = symbols[relocation["r_info_sym"]].name
        self._data = data

    def called_before(self, place: int) -> str:
        """The exported function called by the instruction before this file offset; or empty."""
        if not 6 <= place <= len(self._data):
            return ""
        spans = (
            address - offset
            for offset, address, size in self._segments
            if offset <= place < offset + size
        )
        target = place + next(spans, 0) + self._number(place - 4)
        if self._data[place - 6 : place - 4] == _CALL_SLOT:
            return self._slots.get(target, "")
        if self._data[place - 5] != _CALL:
            return ""
        return self._functions.get(target) or self._through_plt(target)

    def _through_plt(self, target: int) -> str:
        """The function for this entry of the procedure linkage table."""
        for offset, address, size in self._segments:
            if not address <= target < address + size:
                continue
            shift = address - offset
            jump = target - shift
            jump += len(_ENDBR64) * self._data.startswith(_ENDBR64, jump)
            jump += len(_BND) * self._data.startswith(_BND, jump)
            if self._data.startswith(_JUMP_SLOT, jump) and jump + 6 <= len(self._data):
                return self._slots.get(jump + 6 + shift + self._number(jump + 2), "")
            return ""
        return ""

    def _number(self, place: int) -> int:
        return int(struct.unpack_from("<i", self._data, place)[0])
