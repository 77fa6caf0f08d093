"""ab's block for each cell, in ab's own words and order."""

from tlslab.domain.finding import AbBlock, CellSummary, Summary
from tlslab.domain.names import NO_TLS
from tlslab.domain.plain import plain
from tlslab.domain.wording import cell_label

_ROWS = ("connect", "processing", "waiting", "total")


def render_ab(summary: Summary) -> str:
    """A block for each cell in the order of the plan; cells without results say why."""
    return "\n".join(_cell(cell) for cell in summary.cells)


def _cell(cell: CellSummary) -> str:
    title = f"{cell_label(cell.factors)} [{cell.verdict}]"
    lines = [title, "=" * len(title)]
    if cell.ab is None:
        lines += [f"  {plain(reason.message)}" for reason in cell.reasons]
    else:
        lines += _block(cell.ab)
    return "\n".join(lines) + "\n"


def _block(ab: AbBlock) -> list[str]:
    sizes = [str(bits) for bits in (ab.server_key_bits, ab.cipher_bits) if bits is not None]
    temporary = ab.temporary_key
    if temporary and ab.temporary_key_bits:
        temporary += f" {ab.temporary_key_bits} bits"
    of_tls = (
        (
            ("SSL/TLS Protocol", ",".join([ab.tls, ab.suite, *sizes])),
            ("Server Temp Key", temporary or "none"),
            ("TLS Server Name", ab.server_name),
        )
        if ab.suite != NO_TLS
        else ()
    )
    fields = (
        ("Server Software", ab.server_software),
        ("Server Hostname", ab.host),
        ("Server Port", str(ab.port)),
        *of_tls,
        None,
        ("Document Path", ab.path),
        ("Document Length", f"{ab.document_bytes} bytes"),
        None,
        ("Concurrency Level", str(ab.concurrency)),
        ("Time taken for tests", f"{ab.seconds:.3f} seconds"),
        ("Complete requests", str(ab.complete)),
        ("Failed requests", str(ab.failed)),
        ("Non-2xx responses", str(ab.non_2xx)),
        ("Total transferred", f"{ab.total_bytes} bytes"),
        ("HTML transferred", f"{ab.html_bytes} bytes"),
        ("Requests per second", f"{ab.requests_per_s:.2f} [#/sec] (mean)"),
        ("Time per request", f"{ab.ms_per_request:.3f} [ms] (mean)"),
        (
            "Time per request",
            f"{ab.ms_per_request_across:.3f} [ms] (mean, across all concurrent requests)",
        ),
        ("Transfer rate", f"{ab.transfer_kib_per_s:.2f} [Kbytes/sec] received"),
        None,
    )
    lines = ["" if field is None else f"{field[0] + ':':<24}{plain(field[1])}" for field in fields]
    return [*lines, *_times(ab)]


def _times(ab: AbBlock) -> list[str]:
    """The table of connection times; ab prints whole milliseconds, which hides fast servers."""
    lines = [
        "Connection Times (ms)",
        f"{'':12}{'min':>9} {'mean[+/-sd]':>17} {'median':>9} {'max':>9}",
    ]
    for name in _ROWS:
        if (row := ab.times.get(name)) is not None:
            lines.append(
                f"{name.capitalize() + ':':<12}{row.min_ms:9.2f} {row.mean_ms:9.2f} "
                f"{row.sd_ms:7.2f} {row.median_ms:9.2f} {row.max_ms:9.2f}"
            )
    return lines
