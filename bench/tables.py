"""Prints the results as tables."""

from collections.abc import Mapping

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.floor import FULL, LEAN, NAMES
from bench.intervals import mean
from bench.results import DISTURBANCE_LIMIT, FULL_NAME, LEAN_NAME, Results
from bench.verify import Verified

# Wide enough for every table, wherever the output goes.
console = Console(width=120, highlight=False)


def show_verified(found: Mapping[str, Verified]) -> bool:
    """Prints the counts; returns whether all made full handshakes with the pinned settings."""
    table = Table(title="Handshakes as the server saw them", title_justify="left", box=SIMPLE)
    table.add_column("generator")
    table.add_column("full, as pinned, one request", justify="right")
    table.add_column("other")
    table.add_column("completed, it says", justify="right")
    for name, verified in found.items():
        other = "; ".join(f"{count} x {facts}" for facts, count in verified.other.items())
        table.add_row(name, f"{verified.wanted:,}", other or "none", f"{verified.completed:,}")
    console.print(table)
    return all(verified.passed for verified in found.values())


def show(results: Results) -> bool:
    """Prints all tables; returns whether every bar is met."""
    _show_generators(results)
    _show_busy(results)
    _show_floor(results)
    if results.disturbance > DISTURBANCE_LIMIT:
        console.print(
            f"[yellow]warning[/] other programs took up to {results.disturbance:.0%} of the "
            "generator's processor: end them and run again"
        )
    bars = results.bars()
    for bar in bars:
        mark = "[green]met      [/]" if bar.met else "[red]not shown[/]"
        console.print(f"{mark} {bar.text}: {bar.found}")
    return all(bar.met for bar in bars)


def _show_generators(results: Results) -> None:
    title = "Generator's processor time (user + system) per completed connection, microseconds"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("generator", no_wrap=True)
    for heading in ("CPU (95 %)", "user", "system", "workers", "conn/s", "failed"):
        table.add_column(heading, justify="right")
    table.add_column("over lean", justify="right")
    table.add_column("over full", justify="right")
    for name, by_block in results.samples.items():
        samples = list(by_block.values())
        completed = sum(sample.counted.completed for sample in samples)
        own = [s.counted.own_cpu_us / s.counted.completed for s in samples if s.counted.own_cpu_us]
        table.add_row(
            name,
            f"{results.cost(name):.0f}",
            f"{sum(s.run.user_us for s in samples) / completed:.0f}",
            f"{sum(s.run.system_us for s in samples) / completed:.0f}",
            f"{mean(own).value:.0f}" if own else "",
            f"{mean([sample.per_s for sample in samples]).value:,.0f}",
            f"{sum(sample.counted.failed for sample in samples)}",
            "" if name == LEAN_NAME else f"{results.over(name, LEAN_NAME):.2f}",
            "" if name in (LEAN_NAME, FULL_NAME) else f"{results.over(name, FULL_NAME):.2f}",
        )
    console.print(table)


def _show_busy(results: Results) -> None:
    table = Table(title="Busy, in the middle of the runs", title_justify="left", box=SIMPLE)
    table.add_column("generator")
    for heading in ("server's processor", "nginx's worker", "generator's processor", "its process"):
        table.add_column(heading, justify="right")
    for name in results.samples:
        fields = ("server_processor", "server_process", "generator_processor")
        shares = [results.busy(name, what) for what in fields]
        table.add_row(name, *(f"{one:.1%}" for one in [*shares, results.own_share(name)]))
    console.print(table)


def _show_floor(results: Results) -> None:
    table = Table(
        title="The floor of one connection, microseconds", title_justify="left", box=SIMPLE
    )
    table.add_column("term")
    for heading in ("once (95 %)", "of lean", "of full"):
        table.add_column(heading, justify="right")
    for term, name in NAMES.items():
        once = mean([floor.terms[term] for floor in results.floors.values()])
        shares = (f"{once.value * how[term]:.1f}" if term in how else "" for how in (LEAN, FULL))
        table.add_row(name, f"{once:.1f}", *shares)
    sums = [mean([f.total(how) for f in results.floors.values()]) for how in (LEAN, FULL)]
    table.add_row("sum", "", *(f"{total:.1f}" for total in sums), style="bold")
    over = (results.over_floor(LEAN_NAME, LEAN), results.over_floor(FULL_NAME, FULL))
    table.add_row("generator over floor", "", *(f"{times:.2f}" for times in over), style="bold")
    console.print(table)
