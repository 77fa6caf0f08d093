"""Reports at 80, 100 and 130 columns: no wider line, no split number, omitted columns named."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console, RenderableType

from factories import benchmarks as made_benchmarks
from factories.capacity import made_capacity_run
from factories.run import World, made_run
from factories.validation import made_validation
from factories.worded import overlay, summarise
from tlslab.advice import advised
from tlslab.advice.emit import FORMS, Preference, offer_of
from tlslab.advice.policy import policies
from tlslab.analysis.overlay import Side
from tlslab.domain.experiment import Experiment
from tlslab.domain.figure import TextBlock
from tlslab.domain.finding import Summary
from tlslab.domain.names import SUITES
from tlslab.domain.scale import BackendScale, Scale, ScalePoint, Slope
from tlslab.experiment import load, with_levels
from tlslab.report import render_text
from tlslab.report.terminal_results import render_scale
from tlslab.report.validation import render_validation

pytestmark = pytest.mark.slow

WIDTHS = (80, 100, 130)

# Wide enough for every table; each sentence is on one line.
ENDLESS = 2000

# The columns that the narrow table of a section omits and names.
LEFT_OUT = "left out for want of room: bytes of handshake, handshake ms"


@cache
def groups() -> Summary:
    return summarise(made_run(World(unsupported=frozenset({"X448"}))))


def of(experiment: Experiment) -> Summary:
    return summarise(made_run(World(target="reference"), experiment=experiment))


@cache
def suites() -> Summary:
    few = {"suite": ("TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")}
    return of(with_levels(load("groups", "quick"), {**few, "tls": ("1.3", "1.2")}))


@cache
def servers() -> Summary:
    return of(with_levels(load("offload", "quick"), {"group": ("X25519",)}))


@cache
def capacity() -> Summary:
    return summarise(made_capacity_run())


@cache
def comparison() -> Summary:
    return overlay(Side("the one before", capacity()), Side("the one after", capacity()))


@cache
def concurrency() -> Summary:
    return summarise(made_benchmarks.made_contents())


def printed(thing: RenderableType, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(thing, crop=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def numbers(text: str) -> set[str]:
    """Words that are a number or an interval, and nothing else."""
    return set(re.findall(r"(?<!\S)[+≥-]?\d[\d,.]*(?:–\d[\d,.]*)?(?!\S)", text))


def words(text: str) -> set[str]:
    """Words of letters, among them those of the tables' heads."""
    return set(re.findall(r"[^\W\d_]{3,}", text))


MADE: list[Callable[[], Summary]] = [
    groups, suites, servers, capacity, comparison, concurrency,
]  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", MADE)
def test_a_report_fits_whole(make: Callable[[], Summary], width: int) -> None:
    summary = make()
    whole, text = printed(render_text(summary), ENDLESS), printed(render_text(summary), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    lost = numbers(whole) - numbers(text)
    if LEFT_OUT in " ".join(text.split()):
        assert width < 112
        reported = [cell.estimates for cell in summary.cells]
        unsaid = {f"{each['wire_bytes_per_handshake'].value:,.0f}" for each in reported if each}
        lost -= unsaid
        lost = {number for number in lost if not is_time(number, summary)}
    assert lost == set()
    assert words(whole) - words(text) <= {"bytes", "handshake"}


def is_time(number: str, summary: Summary) -> bool:
    """Whether a number is a handshake's time, which is omitted with its column."""
    times = [
        cell.estimates[name].value
        for cell in summary.cells
        for name in ("handshake_ms_p50", "handshake_ms_p99")
        if name in cell.estimates
    ]
    value = float(number.replace(",", ""))
    return any(abs(value - each) <= 0.051 for each in times)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_validation_fits_whole(width: int) -> None:
    whole, text = (printed(render_validation(made_validation()), each) for each in (ENDLESS, width))
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert numbers(whole) <= numbers(text)


@pytest.mark.parametrize("width", WIDTHS)
def test_memory_fits_whole(width: int) -> None:
    readings = tuple(ScalePoint(n, n * 9000, n * 31000, n * 12345) for n in (1000, 10_000, 100_000))
    slopes = tuple(
        Slope(what, 9216.0, 9200.0, 9300.0, 3) for what in ("client", "server", "kernel")
    )
    backend = BackendScale("rustls", 100_000, 100_000, 0, {}, readings, slopes)
    scale = Scale("tlslab.scale/1", "reference", "tlslab-serve", (backend,))
    whole, text = (printed(render_scale(scale), each) for each in (ENDLESS, width))
    assert max(map(len, text.splitlines())) <= width
    assert numbers(whole) <= numbers(text)


@cache
def configured() -> Summary:
    """Configurations of every server, with more names of suites than fit on a line."""
    names = tuple(suite.name for suite in SUITES if suite.tls == "1.2")
    offer = offer_of(Preference("suite", "nginx", names), policies(), "nginx")
    texts = [form.text(offer, (f"left out: {', '.join(names)}",)) for form in FORMS.values()]
    texts.append(f"ciphers {':'.join(names * 2)};")
    blocks = (
        TextBlock(f"file-{n}", "Configuration", "", text) for n, text in enumerate(texts) if text
    )
    return replace(advised(groups()), texts=tuple(blocks))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_configuration_is_printed_whole(width: int) -> None:
    """Half a line is another setting, and half a comment becomes a setting."""
    summary = configured()
    assert len(summary.texts) > 3
    text = printed(render_text(summary), width).splitlines()
    longest = 0
    for block in summary.texts:
        for line in block.text.split("\n"):
            assert f"  {line}" in text
            longest = max(longest, len(line))
    assert longest > 1000


@pytest.mark.parametrize("width", WIDTHS)
def test_a_source_is_an_address_that_can_be_followed(width: int) -> None:
    summary = configured()
    sources = {str(row[-1]) for table in summary.tables[-1:] for row in table.rows}
    assert max(map(len, sources)) > 40
    text = printed(render_text(summary), width)
    assert [source for source in sources if source not in text] == []
