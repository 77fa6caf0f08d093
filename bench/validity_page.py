"""The page docs/validity.md, made from the kept results."""

from collections.abc import Iterator, Sequence

import scipy

from bench.provenance import ROOT
from bench.validity_file import (
    ALARM_BAR,
    FILE,
    Contents,
    Equal,
    Gated,
    Kills,
    Longer,
    Planted,
    Real,
    write,
)
from tlslab.analysis.stats.share import proportion_interval

PAGE = ROOT / "docs" / "validity.md"

# The level that the largest of several rows must exceed, over all rows together (Bonferroni).
_TOGETHER = 0.05


def publish(contents: Contents) -> int:
    """Stores the results, writes the page, prints each requirement.

    Returns 1 if the newest runs miss one: runs of other days may be from another machine.
    """
    write(FILE, contents)
    PAGE.write_text(page(contents), "utf-8")
    newest = contents.newest()
    for bar in newest.bars():
        print(bar.words())
    return 1 if newest.missed() else 0


def page(contents: Contents) -> str:
    """The page, in Markdown."""
    made = "" if contents.simulated is None else f"\nMade {contents.simulated.words()}.\n"
    parts = [_HEAD + made + _EQUAL, *_equal(contents.equal)]
    parts += [_PLANTED, *_planted(contents.planted)]
    parts += [_BARS, *_bars(contents), _REAL, *_real(contents)]
    parts += [_GATED, *map(_gated, contents.gated)]
    if not contents.gated:
        parts.append("\nNo run is kept yet.")
    if contents.kills:
        parts += [_KILLS, *map(_kills, contents.kills)]
    return "\n".join(parts) + "\n"


def _equal(rows: tuple[Equal, ...]) -> Iterator[str]:
    for row in rows:
        counts = (row.ranking, row.table, row.either)
        yield (
            f"| {row.plan} | {row.runs:,} | " + " | ".join(_of(n, row.runs) for n in counts) + " |"
        )


def _planted(rows: tuple[Planted, ...]) -> Iterator[str]:
    for row in rows:
        found = _of(row.found, row.runs)
        yield f"| {row.plan} | {100 * row.noise:g} % | {row.blocks:.1f} | {found} |"


def _bars(contents: Contents) -> Iterator[str]:
    for bar in contents.real_bars():
        verdict = bar.verdict if bar.met else f"**{bar.verdict}**"
        yield f"| {bar.what} | {bar.runs} | {_of(bar.counted, bar.runs)} | {verdict} |"
    for day in contents.real:
        if not day.longer:
            yield (
                f"\nThe rows on slowdowns leave out {day.created[:10]}: the trials of its runs are "
                "not kept, so that no longer runs could be made of them. The slowdowns that its "
                'runs of five blocks found are in the table of "Real runs".'
            )


def _real(contents: Contents) -> Iterator[str]:
    for row in contents.real:
        for by in row.by:
            noise = "" if by.noise is None else f"{100 * by.noise:.1f} %"
            ratio = "" if by.ratio is None else f"{by.ratio:.3f}"
            yield (
                f"| {row.created[:10]} | {_where(row)} | `{by.estimate}` | {by.runs} | "
                f"{_of(by.alarms, by.runs)} | {_of(by.found, by.runs)} | {ratio} | {noise} | "
                f"{_command(row)} |"
            )
    for name, runs, alarms in contents.totals():
        yield f"\nAll real runs by `{name}`: {runs}, with {_of(alarms, runs)} false alarms."
    longer = [(real, each) for real in contents.real for each in real.longer]
    if longer:
        yield _LONGER
    for real, each in longer:
        yield (
            f"| {real.created[:10]} | `{each.estimate}` | {each.blocks} | {each.seconds:.0f} s | "
            f"{each.runs} | {_of(each.alarms, each.runs)} | {_of(each.found, each.runs)} |"
        )
    if longer:
        yield f"\n{_most_alarms([each for _, each in longer])}"


def _most_alarms(rows: Sequence[Longer]) -> str:
    """The meaning of the largest share of false alarms, given that it is the largest of several."""
    worst = max(rows, key=lambda row: row.alarms / row.runs)
    chance = float(scipy.stats.binom.sf(worst.alarms - 1, worst.runs, ALARM_BAR))
    text = (
        f"The row with the largest share of false alarms is `{worst.estimate}`, {worst.blocks} "
        f"blocks: {worst.alarms} of {worst.runs}. With the promised {100 * ALARM_BAR:g} %, a row "
        f"has this many or more with a chance of {100 * chance:.0f} %. This row is the worst of "
        f"{len(rows)}. So it "
    )
    if chance * len(rows) < _TOGETHER:
        return text + "shows that the promise is not kept on this machine."
    return text + "does not show that the promise is broken, nor that it is kept."


def _gated(row: Gated) -> str:
    planted = f"{100 * row.planted:g} %" if row.planted else "none"
    return (
        f"| {row.created[:10]} | {_where(row)} | {row.gate} of `{row.by}` | {row.blocks} | "
        f"{row.seconds:.0f} s | {planted} | {row.runs} | {_of(row.stopped, row.runs)} | "
        f"{row.passed} | {row.cannot_tell} | {_command(row)} |"
    )


def _kills(row: Kills) -> str:
    return (
        f"| {row.created[:10]} | {_where(row)} | {row.kills} | {row.trials} | {row.rivals} | "
        f"{row.seconds:.0f} s | {_command(row)} |"
    )


def _where(row: Real | Gated | Kills) -> str:
    """The machine."""
    return f"{row.processors} x {row.processor}, Linux {row.kernel}"


def _command(row: Real | Gated | Kills) -> str:
    """The command, with the commit if it was kept."""
    return f"`{row.command}`" + (f", {row.commit}" if row.commit else "")


def _of(count: int, runs: int) -> str:
    """A count with its share and the exact interval of the share."""
    low, high = proportion_interval(count, runs)
    share = 100 * count / runs if runs else 0.0
    return f"{count} ({share:.1f} %; 95 %: {100 * low:.1f} to {100 * high:.1f})"


_HEAD = """\
# Does "95 %" mean 95 %?

`make bench-validity` counts how often tlslab reports a difference between equal servers, and how
often it finds a planted slowdown ([ADR 0062](adr/0062-the-self-test-of-a-machine.md)). The command
writes this page. `make bench-gate` and `make test-kills` add their sections. The numbers are in
`bench/validity.json`.

Each count of runs has its share of all runs, with a 95 % interval of this share.

## Simulated runs of equal cells

The first run has two equal cells, the next three, and so on up to six; then two again. The value of
a trial is the product of random effects: of the block (5 %), and of process start, window and
requests (2 % together). The costs of both sides, with their user and system parts, are drawn with
the rate. The functions that analyse real runs analyse these values.

A difference that a run reports between equal cells is false. A report has two families of
comparisons. tlslab promises that at most 5 % of the runs have a false difference in a family. It
promises nothing for both families together.

| column | runs with a false difference in |
|---|---|
| ranking | the ranking by connections/s (every pair of cells) |
| table of ratios | the table of ratios (every cell and estimate) |
| either | one of the two, or both |

Requirements:

- A false difference in 5 % of the runs at most, in each family.
- A slowdown of 5 % is found in at least 9 of 10 runs, if the noise of a trial is 2 % or less. The
  runs have ten blocks, or fifteen at most if a run ends when its comparisons are settled.
"""

_EQUAL = """
| plan | runs | ranking | table of ratios | either |
|---|---|---|---|---|"""

_PLANTED = """
## Simulated slowdowns of 5 %

Each run has two cells, of which one is 5 % slower. "Found" counts the runs whose ranking has this
cell behind the other. The noise is the standard deviation of a trial within its block. The noise of
a ratio of two trials is 1.4 times as large.

| plan | noise | blocks made | found |
|---|---|---|---|"""

_REAL = """
## Real runs

Each run has five blocks. Each block has a trial of three servers, in random order and each in a
fresh process: the reference server under two names, and a third one that burns 5 % of the processor
time of new connections (`tlslab-serve --burn 5%`). `make bench-validity` makes 100 such runs, which
takes some 35 minutes. The table has all runs that were made and can be ranked.

| column | meaning |
|---|---|
| false alarms | runs that rank one of the two equal servers behind the other |
| slowdowns found | runs that rank the slower server behind an equal one |
| ratio | the value of the slower server over that of an equal one, over all blocks |
| noise | the standard deviation of the ratio of the equal servers in one block |

| date | machine | ranked by | runs | false alarms | slowdowns found | ratio | noise | command |
|---|---|---|---|---|---|---|---|---|"""

_LONGER = """
### The same trials in longer runs

The table shows how many slowdowns a run finds if it may take longer. The trials of one day are cut
into fewer runs, of two cells and more blocks each. The rows of a day come from the same trials, so
they are not independent of each other.

| date | ranked by | blocks | a run takes | runs | false alarms | slowdowns of 5 % found |
|---|---|---|---|---|---|---|"""

_BARS = """
## Requirements on real servers

The counts are those of the sections below. False alarms are counted over all days together,
slowdowns and runs of docs/ci/gate.sh by day. The noise is that of one block, from "Real runs". In
"a run of 80 s at most (those kept: 48 s)" the first figure is the limit of a run's duration, the
second the duration of the longest runs below that keep the limit.

| requirement on | met, if the whole 95 % interval of their share is | not met |
|---|---|---|
| false alarms | at most 5 % | if the whole interval is above 5 % |
| slowdowns found | at least 90 % | if fewer than 9 of 10 were found |

Otherwise the requirement is not refuted: the runs are too few to show that it is met. The exit code
of the command is 1 if a requirement is not met by the runs of the newest day.

| requirement | runs | counted | verdict |
|---|---|---|---|"""

_GATED = """
## The job script

`make bench-gate` runs [docs/ci/gate.sh](ci/gate.sh) on two reference servers: in one half of the
runs the servers are equal, in the other half one server burns more processor time than the other
(`tlslab-serve --burn`). Each block has a trial of both servers. Trials are as short as those of the
self-test (bench/gate.toml).

| result | exit code of the script | meaning |
|---|---|---|
| stopped | 1 | a slowdown of more than the gate is established |
| passed | 0 | a slowdown of more than the gate is excluded |
| open | 0, with the warning "cannot tell" | neither |

| date | machine | gate | blocks | time | planted | runs | stopped | passed | open | command |
|---|---|---|---|---|---|---|---|---|---|---|"""

_KILLS = """
## Interrupted runs

`make test-kills` kills one run at random moments (kill -9) and resumes it each time. Now and then a
second process resumes the same run folder at the same time. Each row is a test that passed:

- no finished trial was lost, and no trial was counted twice;
- the last `--resume` completed the run;
- of two processes at once, one was refused.

| date | machine | kills | trials | second processes | took | command |
|---|---|---|---|---|---|---|"""
