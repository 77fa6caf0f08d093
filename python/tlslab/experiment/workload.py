"""The table [workload]: the actions of every connection, and the length of the runs."""

import re
from dataclasses import replace

from tlslab.domain.errors import UsageError
from tlslab.domain.factors import FACTORS, RESUMPTIONS
from tlslab.domain.workload import (
    EXPECTED_STATUS,
    NO_WINDOW,
    KeepAlive,
    Window,
    Workload,
)
from tlslab.toml_table import Table, toml

LIMIT_CONNECTIONS = 65_536
LIMIT_WINDOW_MS = 3_600_000
LIMIT_COUNT = 100_000_000
LIMIT_DOCUMENT_BYTES = 1 << 30
LIMIT_STREAMS = 1000

WINDOWS = ("capacity", "client_cost")

_KEYS = (
    "document_bytes", "connections", "requests_per_connection", "http", "streams", *WINDOWS,
    "resume", "resume_ratio", "keep_alive", "expect_status",
)  # fmt: skip

STATUS_FORM = "must have the form 2xx, 302, any, or several like 200,302"

_STATUS = re.compile(r"any|[1-5](?:xx|[0-9]{2})(?:,[1-5](?:xx|[0-9]{2}))*")


def required_status(text: str) -> str:
    """The value of `--expect-status`, without blanks. Raises UsageError."""
    status = "".join(text.lower().split())
    if not _STATUS.fullmatch(status):
        raise UsageError(f"--expect-status {text}: {STATUS_FORM}")
    return status


def read_workload(root: Table, changes: Table, windows: bool = True) -> Workload:
    """The workload, with the values of `changes` in precedence.

    `windows`: its windows are required.
    """
    base = root.table("workload")
    changed = changes.table("workload") if "workload" in changes else base
    for table in (base, changed):
        table.only(*_KEYS)

    def place(key: str) -> Table:
        return changed if key in changed else base

    def window(key: str) -> Window:
        return read_window(place(key).table(key)) if windows or key in place(key) else NO_WINDOW

    resume = _resume(place("resume"))
    ratio = place("resume_ratio")
    if resume == "none" and "resume_ratio" in ratio:
        raise ratio.error("needs a kind of resumption, which 'resume' names", "resume_ratio")
    workload = Workload(
        document_bytes=place("document_bytes").integer("document_bytes", 1, LIMIT_DOCUMENT_BYTES),
        connections=place("connections").integer("connections", 1, LIMIT_CONNECTIONS),
        requests_per_connection=place("requests_per_connection").integer(
            "requests_per_connection", 1, 1_000_000
        ),
        capacity=window("capacity"),
        client_cost=window("client_cost"),
        http=_http(place("http")) or "1.1",
        streams=_streams(place("streams")),
        resume=resume,
        resume_ratio=ratio.share("resume_ratio") if "resume_ratio" in ratio else 1.0,
        keep_alive=_keep_alive(place("keep_alive")),
        expect_status=_status(place("expect_status")),
    )
    _check_streams(workload, place("streams"))
    return workload


def _status(table: Table) -> str:
    if "expect_status" not in table:
        return EXPECTED_STATUS
    status = table.text("expect_status")
    if not _STATUS.fullmatch(status):
        raise table.error(STATUS_FORM, "expect_status")
    return status


def _check_streams(workload: Workload, table: Table) -> None:
    if workload.streams > 1:
        if workload.http != "2":
            raise table.error('more than 1 only with http = "2"', "streams")
        if workload.streams > workload.requests_per_connection:
            raise table.error("must not be more than requests_per_connection", "streams")


def _keep_alive(table: Table) -> KeepAlive | None:
    if "keep_alive" not in table:
        return None
    keep_alive = table.table("keep_alive")
    keep_alive.only("warmup_ms", "measure_ms", "connections", "http", "streams", "open_within_ms")
    return KeepAlive(
        window=_window(keep_alive),
        connections=keep_alive.integer("connections", 1, LIMIT_CONNECTIONS),
        http=_http(keep_alive),
        streams=_streams(keep_alive),
        open_within_ms=keep_alive.integer("open_within_ms", 100, LIMIT_WINDOW_MS)
        if "open_within_ms" in keep_alive
        else KeepAlive.open_within_ms,
    )


def _http(table: Table) -> str | None:
    if "http" not in table:
        return None
    version = table.text("http")
    if version not in FACTORS["http"].rule.known:
        raise table.error(f"must be one of {', '.join(FACTORS['http'].rule.known)}", "http")
    return version


def _streams(table: Table) -> int:
    return table.integer("streams", 1, LIMIT_STREAMS) if "streams" in table else 1


def _resume(table: Table) -> str:
    if "resume" not in table:
        return "none"
    if table.text("resume") not in RESUMPTIONS:
        raise table.error(f"must be one of {', '.join(RESUMPTIONS)}", "resume")
    return table.text("resume")


def read_window(table: Table) -> Window:
    """A table with `warmup_ms`, `measure_ms`, perhaps `count`, and nothing else."""
    table.only("warmup_ms", "measure_ms", "count")
    count = table.integer("count", 1, LIMIT_COUNT) if "count" in table else 0
    return replace(_window(table), count=count)


def _window(table: Table) -> Window:
    return Window(
        warmup_ms=table.integer("warmup_ms", 0, LIMIT_WINDOW_MS),
        measure_ms=table.integer("measure_ms", 100, LIMIT_WINDOW_MS),
    )


def write_workload(workload: Workload) -> list[str]:
    """The lines from which `read_workload` restores the workload."""
    lines = ["", "[workload]"]
    for name in ("document_bytes", "connections", "requests_per_connection"):
        lines.append(f"{name} = {getattr(workload, name)}")
    lines += [f"http = {toml(workload.http)}", f"streams = {workload.streams}"]
    if workload.resume != "none":
        lines.append(f"resume = {toml(workload.resume)}")
        lines.append(f"resume_ratio = {workload.resume_ratio}")
    if workload.expect_status != "2xx":
        lines.append(f"expect_status = {toml(workload.expect_status)}")
    for name in WINDOWS:
        if (window := getattr(workload, name)) != NO_WINDOW:
            lines += ["", f"[workload.{name}]", *write_window(window)]
    if (keep_alive := workload.keep_alive) is not None:
        lines += ["", "[workload.keep_alive]", *write_window(keep_alive.window)]
        lines += [f"connections = {keep_alive.connections}", f"streams = {keep_alive.streams}"]
        lines.append(f"open_within_ms = {keep_alive.open_within_ms}")
        lines += [f"http = {toml(keep_alive.http)}"] if keep_alive.http else []
    return lines


def write_window(window: Window) -> list[str]:
    """The lines of a window."""
    lines = [f"warmup_ms = {window.warmup_ms}", f"measure_ms = {window.measure_ms}"]
    return [*lines, f"count = {window.count}"] if window.count else lines
