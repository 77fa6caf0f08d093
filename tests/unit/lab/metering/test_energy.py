"""Energy of processor packages, from a made-up sysfs: the test needs no real counter."""

import os
from pathlib import Path

import pytest

from tlslab.domain.trial import PackageEnergy
from tlslab.lab.metering.energy import NOT_READABLE, NOT_SHOWN, EnergyReader, joules

SPAN = 262_143_328_850


def zone(root: Path, folder: str, name: str, microjoules: int, span: int = SPAN) -> Path:
    made = root / "class" / "powercap" / folder
    made.mkdir(parents=True)
    (made / "name").write_text(f"{name}\n")
    (made / "max_energy_range_uj").write_text(f"{span}\n")
    (made / "energy_uj").write_text(f"{microjoules}\n")
    return made / "energy_uj"


def test_a_kernel_without_counters_says_so(tmp_path: Path) -> None:
    reader = EnergyReader(tmp_path)
    assert (reader.missing, reader.read(), joules([{}, {}], reader.ranges)) == (NOT_SHOWN, {}, ())


def test_each_package_counts_by_itself_and_its_parts_do_not(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 5_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 1)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 1)
    reader = EnergyReader(tmp_path)
    assert reader.missing == ""
    readings = [reader.read()]
    first.write_text("13500000")
    second.write_text("5250000")
    readings.append(reader.read())
    found = joules(readings, reader.ranges)
    assert found == (PackageEnergy("package-0", 12.5), PackageEnergy("package-1", 0.25))


def test_a_counter_wraps_around_at_its_range_more_than_once(tmp_path: Path) -> None:
    file = zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000, span=10_000_000)
    reader = EnergyReader(tmp_path)
    readings = [reader.read()]
    for value in (2_000_000, 8_000_000, 1_000_000):
        file.write_text(str(value))
        readings.append(reader.read())
    assert joules(readings, reader.ranges) == (PackageEnergy("package-0", 3 + 6 + 3),)


def test_zones_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1)
    zone(tmp_path, "intel-rapl:1", "package-0", 2)
    assert EnergyReader(tmp_path).read() == {"package-0": 1, "package-0 (intel-rapl:1)": 2}


def test_a_package_that_is_gone_in_between_has_no_energy(tmp_path: Path) -> None:
    file = zone(tmp_path, "intel-rapl:0", "package-0", 1)
    reader = EnergyReader(tmp_path)
    before = reader.read()
    file.unlink()
    assert joules([before, reader.read()], reader.ranges) == ()


@pytest.mark.parametrize("content", ["", "lots", "1e6"])
def test_nonsense_is_no_counter(tmp_path: Path, content: str) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1).write_text(content)
    assert EnergyReader(tmp_path).missing == NOT_SHOWN


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_counter_for_root_alone_is_named(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1).chmod(0)
    assert EnergyReader(tmp_path).missing == NOT_READABLE
