"""The published study of concurrency beside our results: ratios and numbers of processors."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tlslab.analysis.benchmark.curves import Curve, find_curve
from tlslab.analysis.benchmark.processors import Costs
from tlslab.domain.errors import UsageError
from tlslab.domain.estimates import (
    OPERATION_MEAN,
)
from tlslab.domain.figure import TableCell

SCHEMA = "tlslab.published-concurrency/1"


@dataclass(frozen=True)
class PublishedConcurrency:
    """The study's results, on `general` and `signing` processors.

    Rates are operations per second with a p99 below `p99_ms`. `linear_to`, `slower_from` and
    `no_gain_from` are numbers of threads. `signing_per_general` was the study's suggestion, to be
    verified.
    """

    source: str
    general: int
    signing: int
    handshakes_per_s: float
    signatures_per_s: float
    p99_ms: float
    linear_to: int
    slower_from: int
    no_gain_from: int
    drawing_us: float
    signing_per_general: float


def load_published(name: str) -> PublishedConcurrency:
    """The study with this name. Raises UsageError if tlslab does not ship it."""
    file = resources.files("tlslab") / "experiments" / "published" / f"{name}.toml"
    try:
        data: Mapping[str, Any] = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"no published study '{name}'") from None
    if data["schema"] != SCHEMA:
        raise UsageError(f"published/{name}.toml: schema must be {SCHEMA}")
    return PublishedConcurrency(
        source=f"{data['title']} ({data['date']}): {data['setting']}; {data['method']}",
        **data["found"],
    )


@dataclass(frozen=True)
class Beside:
    """One published figure beside ours."""

    what: str
    published: TableCell
    here: TableCell
    on: str


def beside(
    study: PublishedConcurrency, curves: Sequence[Curve], found: Sequence[Costs], processors: int
) -> tuple[Beside, ...]:
    """All published figures that have a counterpart."""
    rows: list[Beside] = []
    for curve in curves:
        if curve.keys == "cluster" and curve.benchmark in ("sign", "handshake-tls12"):
            rows += _shape(study, curve, processors)
    for each in found:
        rows.append(
            Beside(
                f"signing processors per general one, {each.curve.what}",
                f"{study.signing_per_general:g} (suggested)",
                each.ratio,
                each.curve.name,
            )
        )
    rows += _rates(study, curves)
    rows += _drawn(study, curves)
    return tuple(rows)


def _shape(study: PublishedConcurrency, curve: Curve, processors: int) -> Iterator[Beside]:
    if curve.knee is None:
        return
    knee = curve.knee.at.value / processors
    yield Beside(
        f"threads per general processor from which nothing is gained, {curve.what}",
        f"{study.no_gain_from / study.general:g}",
        f"above {knee:g}" if curve.knee.at_end else f"{knee:g}",
        curve.name,
    )
    yield Beside(
        f"threads per general processor up to which it is linear, {curve.what}",
        f"{study.linear_to / study.general:g}",
        f"{curve.knee.linear_to / processors:g}",
        curve.name,
    )


def _rates(study: PublishedConcurrency, curves: Sequence[Curve]) -> Iterator[Beside]:
    for signing in (curve for curve in curves if curve.benchmark == "sign"):
        shaking = find_curve(curves, signing.runtime, "handshake-tls12", signing.keys)
        if shaking is None:
            continue
        here = signing.best[1].value / shaking.best[1].value
        yield Beside(
            "signatures per TLS 1.2 handshake at the most of each",
            f"{study.signatures_per_s / study.handshakes_per_s:g}",
            f"{here:.2f}",
            signing.name,
        )


def _drawn(study: PublishedConcurrency, curves: Sequence[Curve]) -> Iterator[Beside]:
    for curve in curves:
        mean = curve.first.summary.estimates.get(OPERATION_MEAN)
        if curve.benchmark == "draw" and mean is not None:
            yield Beside(
                "drawing a message, microseconds",
                f"{study.drawing_us:g}",
                f"{1000 * mean.value:.1f}",
                curve.name,
            )
