"""httperf's block: one of our runs in httperf's output format.

Source: httperf(1), "Output"; the lines and their order are those of httperf 0.9.0.
"""

import math
from collections.abc import Mapping, Sequence

from tlslab.contract.record import RunRecord, TimeSummary
from tlslab.domain.run_record import mismatches
from tlslab.domain.trial import TrialRun

# httperf samples the reply rate every five seconds; shorter runs have shorter samples.
SAMPLE_S = 5.0

_NONE = TimeSummary(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

# The engine's failure classes by httperf's names of errors; the rest are `other`.
_ERRORS: Mapping[str, tuple[str, ...]] = {
    "client-timo": ("timeout_",),
    "connrefused": ("refused",),
    "connreset": ("reset", "closed_"),
    "fd-unavail": ("files_exhausted",),
    "addrunavail": ("ports_exhausted",),
}


def httperf_block(run: TrialRun) -> str:
    """The block of a run. Failed connections are counted as errors only, as in httperf.

    Connection time goes from the start of the TCP connection to the end of the response; connect
    time is the part until the end of the TLS handshake. Sizes are TCP payload.
    """
    record = run.record
    outcomes = record.outcomes
    replies = record.requests
    seconds = record.seconds
    rate = outcomes.completed / seconds if seconds else 0.0
    lines = [
        f"Total: connections {outcomes.attempts} requests {replies} replies {replies} "
        f"test-duration {seconds:.3f} s",
        "",
        f"Connection rate: {rate:.1f} conn/s ({_inverse_ms(rate):.1f} ms/conn, "
        f"<={_most_at_once(run)} concurrent connections)",
        *_connection_times(record),
        f"Connection length [replies/conn]: {_share(replies, outcomes.completed):.3f}",
        "",
        *_requests(record, replies / seconds if seconds else 0.0),
        "",
        *_replies(record),
        "",
        *_load(record),
        "",
        *_errors(record.outcomes.failed, mismatches(outcomes)),
    ]
    return "\n".join(lines) + "\n"


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _inverse_ms(rate: float) -> float:
    return _share(1000.0, rate)


def _most_at_once(run: TrialRun) -> int:
    """The highest number of connections in flight; without a pace the mean, rounded up."""
    seen = [sample.in_flight for sample in run.pace]
    return max([*seen, math.ceil(run.record.concurrency)])


def _connection_times(record: RunRecord) -> list[str]:
    whole = record.summaries.get("service", _NONE)
    connect = record.summaries.get("established", _NONE)
    return [
        f"Connection time [ms]: min {whole.min_ms:.1f} avg {whole.mean_ms:.1f} "
        f"max {whole.max_ms:.1f} median {whole.p50_ms:.1f} stddev {whole.sd_ms:.1f}",
        f"Connection time [ms]: connect {connect.mean_ms:.1f}",
    ]


def _requests(record: RunRecord, rate: float) -> list[str]:
    sent = record.bytes.sent - record.bytes.handshake_sent
    return [
        f"Request rate: {rate:.1f} req/s ({_inverse_ms(rate):.1f} ms/req)",
        f"Request size [B]: {_share(max(sent, 0), record.requests):.1f}",
    ]


def _replies(record: RunRecord) -> list[str]:
    samples = _samples(record)
    mean = sum(samples) / len(samples) if samples else 0.0
    spread = math.sqrt(_share(sum((s - mean) ** 2 for s in samples), max(len(samples) - 1, 0)))
    first = record.summaries.get("first_byte", _NONE).mean_ms
    whole = record.summaries.get("exchange", _NONE).mean_ms
    head = _share(record.bytes.head, record.requests)
    body = _share(record.bytes.body, record.requests)
    status = record.preflight.status or 0
    kinds = " ".join(f"{k}xx={record.requests if status // 100 == k else 0}" for k in range(1, 6))
    return [
        f"Reply rate [replies/s]: min {min(samples, default=0):.1f} avg {mean:.1f} "
        f"max {max(samples, default=0):.1f} stddev {spread:.1f} ({len(samples)} samples)",
        f"Reply time [ms]: response {first:.1f} transfer {max(whole - first, 0):.1f}",
        f"Reply size [B]: header {head:.1f} content {body:.1f} footer 0.0 "
        f"(total {head + body:.1f})",
        f"Reply status: {kinds}",
    ]


def _samples(record: RunRecord) -> list[float]:
    """Replies/s over stretches of five seconds, or over the slices where the run is shorter."""
    samples: list[float] = []
    done, seconds = 0, 0.0
    width = SAMPLE_S if record.seconds >= SAMPLE_S else 0.0
    for part in record.intervals:
        done, seconds = done + part.completed, seconds + part.seconds
        if seconds >= max(width, 1e-9) * 0.99:
            samples.append(done / seconds)
            done, seconds = 0, 0.0
    return samples


def _load(record: RunRecord) -> list[str]:
    user, system = record.cpu.user_us / 1e6, record.cpu.system_us / 1e6
    shares = [100 * _share(used, record.seconds) for used in (user, system, user + system)]
    rate = _share(record.bytes.sent + record.bytes.received, record.seconds)
    return [
        f"CPU time [s]: user {user:.2f} system {system:.2f} (user {shares[0]:.1f}% "
        f"system {shares[1]:.1f}% total {shares[2]:.1f}%)",
        f"Net I/O: {rate / 1024:.1f} KB/s ({rate * 8 / 1e6:.1f}*10^6 bps)",
    ]


def _errors(failed: Mapping[str, int], mismatches: int) -> list[str]:
    counts = {word: _matching(failed, prefixes) for word, prefixes in _ERRORS.items()}
    total = sum(failed.values()) + mismatches
    other = total - sum(counts.values())
    return [
        f"Errors: total {total} client-timo {counts['client-timo']} socket-timo 0 "
        f"connrefused {counts['connrefused']} connreset {counts['connreset']}",
        f"Errors: fd-unavail {counts['fd-unavail']} addrunavail {counts['addrunavail']} "
        f"ftab-full 0 other {other}",
    ]


def _matching(failed: Mapping[str, int], prefixes: Sequence[str]) -> int:
    return sum(n for name, n in failed.items() if name.startswith(tuple(prefixes)))
