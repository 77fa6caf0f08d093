"""Energy counters of processor packages: Linux's powercap interface to RAPL.

Documentation/power/powercap/powercap.rst and Documentation/ABI/testing/sysfs-class-powercap: each
top-level zone `intel-rapl:N` (also on AMD's processors) has `name`, `energy_uj` in microjoules,
and `max_energy_range_uj`, at which `energy_uj` wraps around to 0. Since Linux 5.10 only root may
read `energy_uj`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from tlslab.domain.trial import PackageEnergy

SYSFS = Path("/sys")

NOT_SHOWN = "not shown by this kernel"
NOT_READABLE = "energy_uj may be read by root only"

Counters = Mapping[str, int]


class EnergyReader:
    """The packages of a machine; `missing` is the reason if there are none.

    `root` is the mount point of sysfs. `ranges`: the microjoules at which each counter wraps.
    """

    def __init__(self, root: Path = SYSFS) -> None:
        self._files: dict[str, Path] = {}
        self.ranges: dict[str, int] = {}
        self.missing = NOT_SHOWN
        for zone in sorted((root / "class" / "powercap").glob("intel-rapl:*")):
            if zone.name.count(":") == 1:  # The other zones are parts of a package.
                self._add(zone)
        if self._files:
            self.missing = ""

    def _add(self, zone: Path) -> None:
        try:
            name = (zone / "name").read_text().strip()[:64]
            span = int((zone / "max_energy_range_uj").read_text())
            int((zone / "energy_uj").read_text())
        except PermissionError:
            self.missing = NOT_READABLE
            return
        except (OSError, ValueError):
            return
        # A second zone of the same name is distinguished by its folder.
        name = name if name not in self._files else f"{name} ({zone.name})"
        self._files[name] = zone / "energy_uj"
        self.ranges[name] = span

    def read(self) -> Counters:
        """Microjoules by package; a package that can no longer be read is absent."""
        found = {}
        for name, path in self._files.items():
            try:
                found[name] = int(path.read_text())
            except (OSError, ValueError):
                continue
        return found


def joules(readings: Sequence[Counters], ranges: Mapping[str, int]) -> tuple[PackageEnergy, ...]:
    """Energy between the first and the last reading, by package.

    Two consecutive readings are close enough for at most one wrap between them. A package that is
    missing in a reading is left out.
    """
    found = []
    for name, span in ranges.items():
        values = [reading[name] for reading in readings if name in reading]
        if len(values) < len(readings) or len(values) < 2:
            continue
        pairs = pairwise(values)
        total = sum(
            after - before if after >= before else after + span - before for before, after in pairs
        )
        found.append(PackageEnergy(name, total / 1e6))
    return tuple(found)
