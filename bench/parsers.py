"""Reads the numbers of completed and failed connections from each generator's output."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Counted:
    """Counts of connections; for generators that count requests only, a request is a connection."""

    completed: int
    failed: int
    # Processor time of the workers alone, by the generator's own count; None if it has none.
    own_cpu_us: float | None = None


Parser = Callable[[str], Counted]


def tlslab_load(output: str) -> Counted:
    """The record of `tlslab-load --json`: the line that is a JSON object."""
    line = next((line for line in output.splitlines() if line.startswith("{")), "{}")
    record = json.loads(line)
    if "outcomes" not in record:
        raise ValueError(f"tlslab-load gave no record: {output.strip()[-400:]}")
    outcomes = record["outcomes"]
    bad = sum(outcomes["failed"].values()) + sum(outcomes["unexpected"].values())
    own = record["cpu"]["user_us"] + record["cpu"]["system_us"]
    return Counted(outcomes["completed"], bad, own)


def tlslab_load_requests(output: str) -> Counted:
    """The requests of the same record; failed connections count as failed requests."""
    of_connections = tlslab_load(output)
    line = next(line for line in output.splitlines() if line.startswith("{"))
    return replace(of_connections, completed=json.loads(line)["requests"])


def ab(output: str) -> Counted:
    """ApacheBench's total; answers other than 2xx have a line only if there were any."""
    completed = _number(r"^Complete requests:\s+(\d+)", output)
    failed = _number(r"^Failed requests:\s+(\d+)", output)
    return Counted(completed, failed + _number(r"^Non-2xx responses:\s+(\d+)", output, 0))


def wrk(output: str) -> Counted:
    """Wrk's total; errors have a separate line only if there were any."""
    completed = _number(r"^\s*(\d+) requests in", output)
    errors = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output
    )
    failed = sum(map(int, errors.groups())) if errors else 0
    return Counted(completed, failed + _number(r"Non-2xx or 3xx responses: (\d+)", output, 0))


def h2load(output: str) -> Counted:
    """h2load's requests, each on its own connection."""
    succeeded = _number(r"^requests: .* (\d+) succeeded", output)
    return Counted(succeeded, _number(r"^requests: (\d+) total", output) - succeeded)


def httperf(output: str) -> Counted:
    """Httperf's replies with a 2xx status, and its errors."""
    return Counted(_number(r"2xx=(\d+)", output), _number(r"^Errors: total (\d+)", output))


def s_time(output: str) -> Counted:
    """The connections of `openssl s_time -new`, which ends at the first failure."""
    return Counted(_number(r"^(\d+) connections in \S+ real seconds", output), 0)


def _number(pattern: str, text: str, default: int | None = None) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    if found:
        return int(found[1])
    if default is None:
        raise ValueError(f"no '{pattern}' in: {text.strip()[-400:]}")
    return default
