"""The cells of one server and one version of HTTP, among which suites are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlslab.analysis.compare import Measured
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import OPEN_REQUESTS, OPEN_SERVER_COST
from tlslab.domain.factors import GENERATED, dh_size
from tlslab.domain.names import NO_TLS, find_suite
from tlslab.domain.wording import cell_label, joined

# The estimates by which suites are compared: on connections kept open, and for new connections.

# The factors in which the cells of a place differ.
COMPARED = ("suite", "key", "dh_bits")

# The usual size of today's servers, with which DHE suites stand among the others.
USUAL_DH_BITS = 2048

# Families by key exchange and authentication; suites of TLS 1.3 name neither.
FAMILIES = ("ECDHE-ECDSA", "ECDHE-RSA", "DHE-RSA", "RSA", "TLS 1.3")


@dataclass(frozen=True)
class SuitePlace:
    """Cells that differ in suite, certificate key and Diffie-Hellman size only."""

    setting: Mapping[str, str]
    cells: tuple[Measured, ...]

    @property
    def label(self) -> str:
        """The setting in words."""
        return cell_label(self.setting)

    @property
    def id(self) -> str:
        """The setting as part of an id: letters, digits and '-' only."""
        text = "-".join(self.setting.values()) or "all"
        return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)

    @property
    def usual(self) -> tuple[Measured, ...]:
        """One cell for each suite; for DHE suites, the one with the usual size."""
        by_suite: dict[str, list[Measured]] = {}
        for cell in self.cells:
            by_suite.setdefault(cell.summary.factors["suite"], []).append(cell)
        return tuple(usual_size(cells) for cells in by_suite.values())

    @property
    def dhe_words(self) -> str:
        """The size with which DHE suites stand among the others: ` DHE with 2048 bits.`"""
        sizes = sorted({bits for cell in self.usual if (bits := dh_bits(cell)) is not None})
        return f" DHE with {joined([str(bits) for bits in sizes])} bits." if sizes else ""

    @property
    def keep_alive(self) -> str:
        """The estimate that compares suites on connections kept open.

        The rate, unless the generator was its limit for some: then the server's cost of a request.
        """
        able = {
            name: sum(usable(cell, name) for cell in self.cells)
            for name in (OPEN_REQUESTS, OPEN_SERVER_COST)
        }
        return OPEN_REQUESTS if able[OPEN_REQUESTS] >= able[OPEN_SERVER_COST] else OPEN_SERVER_COST


def places(cells: Sequence[Measured]) -> tuple[SuitePlace, ...]:
    """All places, in the order of their first cells; cells without TLS have no suite."""
    found: dict[tuple[tuple[str, str], ...], list[Measured]] = {}
    for cell in cells:
        if cell.summary.without_tls:
            continue
        levels = cell.summary.factors.items()
        setting = tuple((name, level) for name, level in levels if name not in COMPARED)
        found.setdefault(setting, []).append(cell)
    return tuple(SuitePlace(dict(setting), tuple(group)) for setting, group in found.items())


def plain_cell(place: SuitePlace, cells: Sequence[Measured]) -> Measured | None:
    """The cell without TLS that is otherwise set like a place; None if there is none."""
    same = {**place.setting, "tls": NO_TLS}
    return next((cell for cell in cells if same.items() <= cell.summary.factors.items()), None)


def dh_bits(cell: Measured) -> int | None:
    """The size of the cell's Diffie-Hellman parameters; None without."""
    return dh_size(cell.summary.factors.get("dh_bits", ""))


def is_generated(cell: Measured) -> bool:
    """Whether the cell's Diffie-Hellman parameters are those of no standard group."""
    return cell.summary.factors.get("dh_bits", "").endswith(GENERATED)


def usual_size(cells: Sequence[Measured]) -> Measured:
    """The cell of one suite that represents it: the usual size, or else the smallest.

    Generated parameters only if there are no others.
    """
    ordered = sorted(cells, key=lambda cell: (is_generated(cell), dh_bits(cell) or 0))
    return next((cell for cell in ordered if dh_bits(cell) == USUAL_DH_BITS), ordered[0])


def family(cell: Measured) -> str:
    """The key exchange and authentication of the cell's suite."""
    name = cell.summary.factors["suite"]
    exchange = name.removeprefix("TLS_").partition("_WITH_")[0].replace("_", "-")
    return exchange if exchange in FAMILIES else "TLS 1.3"


def short_name(cell: Measured) -> str:
    """The suite by OpenSSL's name, as in the configuration of servers."""
    name = cell.summary.factors["suite"]
    suite = find_suite(name)
    return suite.openssl if suite else name


def value(cell: Measured, estimate: str) -> Estimate | None:
    """One of the cell's estimates; None if it has none."""
    return cell.summary.estimates.get(estimate)


def usable(cell: Measured, estimate: str) -> bool:
    """Whether the cell has the estimate and may be ranked by it."""
    return cell.may_rank(estimate) and value(cell, estimate) is not None
