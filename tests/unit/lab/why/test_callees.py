"""The callee of a call site, read from a program without symbols."""

import ctypes.util
import platform
from pathlib import Path

import psutil
import pytest

from tlslab.lab.why.callees import Program

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 only")


def library() -> Path:
    """The system's libssl, or another library that this process has loaded."""
    maps = [Path(each.path) for each in psutil.Process().memory_maps() if ".so" in each.path]
    named = ctypes.util.find_library("ssl")
    system = [Path(f"/usr/lib/x86_64-linux-gnu/{named}")] if named else []
    return next(path for path in [*system, *maps] if path.is_file())


def test_calls_through_the_linkage_table_have_their_names() -> None:
    path = library()
    program, data = Program(path), path.read_bytes()
    names = {
        program.called_before(place + 5)
        for place in range(64, len(data) - 5)
        if data[place] == 0xE8
    } - {""}
    assert len(names) > 20
    assert all(name.isidentifier() for name in names)
    if "libssl" in path.name:
        assert {"EVP_PKEY_derive", "EVP_KDF_derive"} <= names


@pytest.mark.parametrize("place", [-1, 0, 3, 1 << 40])
def test_places_outside_of_the_file_call_nothing(place: int) -> None:
    assert Program(library()).called_before(place) == ""


def test_other_files_call_nothing(tmp_path: Path) -> None:
    text = tmp_path / "perf-12.map"
    text.write_text("e8" * 100)
    assert Program(text).called_before(10) == ""
    assert Program(tmp_path / "gone").called_before(10) == ""
    assert Program(tmp_path).called_before(10) == ""


def test_a_library_that_is_cut_off_calls_nothing(tmp_path: Path) -> None:
    data = library().read_bytes()
    for length in (20, 64, 65, 4096, len(data) // 2):
        torn = tmp_path / "torn.so"
        torn.write_bytes(data[:length])
        program = Program(torn)
        assert all(isinstance(program.called_before(place), str) for place in range(0, 4096, 7))
