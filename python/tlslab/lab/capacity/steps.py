"""One step of a capacity experiment: its run and its trial."""

import datetime
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tlslab.domain.capacity import Stage, Step
from tlslab.domain.errors import CannotRunError, EngineError
from tlslab.domain.events import EngineReport, Pace
from tlslab.domain.plan import Cell
from tlslab.domain.trial import PaceSample, Reason, RunKind, Trial, TrialRun, TrialStatus
from tlslab.domain.validation import RateResult
from tlslab.lab.placement import Placement, usable
from tlslab.lab.served_key import check_certificate
from tlslab.lab.specs import step_spec
from tlslab.lab.trial import (
    SERVER_DIED,
    Bench,
    died,
    evidence,
    is_unsupported,
    last_words,
    run_engine,
)
from tlslab.lab.validate import on_path, validate_rate

# The kind of a stage's run in the trial.
KINDS: dict[Stage, RunKind] = {
    "warm_up": "warm_up",
    "search": "search",
    "maximum": "maximum",
    "open_loop": "load",
    "remedy": "remedy",
    "within": "load",
}

# The reason of a step whose packet capture failed.
NO_CAPTURE = "no_capture"

LOOPBACK = "lo"


def run_step(
    bench: Bench, step: Step, cell: Cell, number: int, on_report: Callable[[EngineReport], None]
) -> Trial:
    """Runs a step and returns its trial; a failure is a result, not an exception."""
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    runs: dict[RunKind, TrialRun] = {}
    validation: RateResult | None = None
    status: TrialStatus = "done"
    reason = bench.probed.refused.get(cell.key)
    spec = step_spec(bench.aim, cell.profile, bench.workload.of(cell.factors), step)
    if reason is not None:
        status = "unsupported"
    else:
        try:
            if step.stage == "validation":
                validation = _validate(bench, spec, step)
            else:
                run = _run(bench, spec, on_report, step.generators)
                check_certificate(cell, run.record)
                runs[KINDS[step.stage]] = run
        except EngineError as error:
            gone = died(bench, error)
            lacking = not gone and step.serves == "none" and is_unsupported(
                error, cell, bench.probed
            )  # fmt: skip
            status = "unsupported" if lacking else "failed"
            reason = last_words(bench) if gone else Reason(error.class_, error.message)
            if step.stage in KINDS:
                runs = evidence(error, KINDS[step.stage])
        except CannotRunError as error:
            status = "failed"
            words = f"{error.message}: {error.remedy}" if error.remedy else error.message
            reason = Reason(NO_CAPTURE, words)
    return Trial(
        trial=number,
        block=step.visit,
        position=number,
        cell=cell.key,
        factors={**cell.factors, **step.factors},
        started=started,
        status=status,
        reason=reason,
        runs=runs,
        validation=validation,
    )


def _run(
    bench: Bench, spec: dict[str, Any], on_report: Callable[[EngineReport], None], most: int | None
) -> TrialRun:
    """A run, with its figures second by second."""
    paces: list[Pace] = []

    def keep(report: EngineReport) -> None:
        if isinstance(report, Pace):
            paces.append(report)
        on_report(report)

    run = run_engine(bench, spec, keep, most)
    samples = tuple(
        PaceSample(
            at_s=float(number),
            connections_per_s=pace.connections_per_s,
            in_flight=pace.in_flight,
            failed=pace.failed,
            service_p50_ms=pace.service_p50_ms,
            service_p99_ms=pace.service_p99_ms,
        )
        for number, pace in enumerate(paces, start=1)
    )
    return replace(run, pace=samples)


def _validate(bench: Bench, spec: dict[str, Any], step: Step) -> RateResult:
    """Runs the step with a packet capture. Raises CannotRunError if no capture can be made."""
    assert step.rate is not None
    if urlsplit(spec["url"]).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise CannotRunError(
            "packets are captured on the loopback interface only",
            "see `tlslab validate --interface`",
        )
    with tempfile.TemporaryDirectory(prefix="tlslab-capture-") as folder:
        generator = bench.aim.processors
        others = tuple(number for number in usable() if number not in generator)
        with on_path(spec, LOOPBACK, step.delay_ms or 0.0) as (there, interface):
            return validate_rate(
                bench.engine,
                there,
                float(step.rate),
                interface,
                Placement(others, generator),
                Path(folder),
            )


def server_died(trial: Trial) -> bool:
    """Whether the server is gone after this trial."""
    return trial.reason is not None and trial.reason.class_ == SERVER_DIED
