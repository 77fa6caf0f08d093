"""The study of 2021: which key-exchange group, on HCL Domino; two servers, and an offloader.

Beside our ratios of rates stand the study's, where client and server shared one host.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tlslab.analysis.matrix.summary import measured
from tlslab.domain.deployment import NO_FRONT
from tlslab.domain.estimates import CONNECTIONS, CONNECTIONS_PER_CPU
from tlslab.domain.experiment import MATRIX
from tlslab.domain.finding import Comparison, Finding, Published, Summary, Values
from tlslab.domain.run import RunContents
from tlslab.domain.wording import cell_label, counted, figure, joined
from tlslab.studies.groups import repetitions, two_servers
from tlslab.studies.study import Additions, Figures, Study, source
from tlslab.words.numbers import with_interval
from tlslab.words.sentence import Sentences

# The estimates beside which the study's requests per second on new connections stand. The second
# counts the work of both sides, as the study's client and server shared one host.
RATES = (CONNECTIONS, CONNECTIONS_PER_CPU)


def adds(contents: RunContents, summary: Summary, figures: Figures) -> Additions:
    """The study's ratios and repetitions beside ours: of groups, two servers, an offloader."""
    cells = [cell for cell in measured(contents) if not cell.summary.without_tls]
    baseline = summary.experiment.baseline
    of_groups = cells if tuple(baseline) == ("group",) else []
    found = two_servers.squares(cells)
    return Additions(
        findings=(
            *two_servers.findings(found, figures["servers"]),
            *_offload(summary, figures["offloader"]),
            *repetitions.findings(of_groups, figures),
        ),
        figures=tuple(repetitions.processor_use(of_groups, baseline)),
        tables=(*two_servers.table(found), *repetitions.table(of_groups, summary, figures)),
        comparisons=tuple(
            replace(each, published=published(summary, each, figures))
            for each in summary.comparisons
        ),
    )


def published(summary: Summary, comparison: Comparison, figures: Figures) -> Published | None:
    """The study's ratio between the two cells of a comparison, if it has one."""
    candidate = summary.cell(comparison.candidate).factors
    baseline = summary.cell(comparison.baseline).factors
    first, rates = figures["baseline"]["group"], figures["requests_per_s"]
    if comparison.estimate not in RATES or baseline.get("group") != first or _behind(baseline):
        return None
    if any(candidate.get(name) != level for name, level in figures["applies_to"].items()):
        return None
    if candidate.get("server") != baseline.get("server"):
        return None
    group, offloader = candidate.get("group"), figures["offloader"]
    if _behind(candidate):
        same = group == offloader["group"]
        return Published(offloader["to_fastest"], source(figures)) if same else None
    return Published(rates[group] / rates[first], source(figures)) if group in rates else None


def _behind(factors: Mapping[str, str]) -> bool:
    """Whether clients connect to a front before the server."""
    return factors.get("front", NO_FRONT) != NO_FRONT


def _offload(summary: Summary, study: Figures) -> Iterator[Finding]:
    """The study's ratios of an offloader to its server alone, for fronts with its group."""
    measured = [each.cells[0] for each in summary.findings if each.code == "offload"]
    cells = [key for key in measured if summary.cell(key).factors["group"] == study["group"]]
    if cells:
        yield Finding("offload_published", cells=tuple(cells), values=study)


def _server_and_key(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    times = partial(with_interval, unit="times")
    servers = joined([f"{times(ratio)} with {key}" for key, ratio in v["servers"]])
    keys = joined([f"{times(ratio)} on {name}" for name, ratio in v["keys"]])
    text = (
        f"{v['where']}: {v['cells'][0]} carries {times(v['whole'])} the new connections/s of "
        f"{v['cells'][1]}. That is {with_interval(v['server'])} by the server, over both keys, "
        f"times {with_interval(v['key'])} by the key, on both servers. At equal key the servers "
        f"differ by {servers}; on the same server the keys differ by {keys}."
    )
    return f"{text} The key's effect is not the same on both servers." if v["apart"] else text


def _repetitions(v: Values, cells: tuple[str, ...], summary: Summary) -> str:
    (low, high), (old_low, old_high) = v["seconds"], v["published"]
    return (
        f"{cell_label(summary.cell(cells[0]).factors)}: at the rates of "
        f"{counted(v['blocks'], 'block')} "
        f"{v['connections']:,} new connections take {figure(low)} to {figure(high)} s, the longest "
        f"{high / low:.2f} times the shortest. The study's runs of one group took {old_low:g} to "
        f"{old_high:g} s, {old_high / old_low:.2f} times."
    )


SENTENCES: Sentences = {
    "server_and_key": _server_and_key,
    "server_and_key_published": lambda v, *_: (
        f"The study found {v['best']:.2f} between the best of its two servers, and "
        f"{v['same_group']:.2f} with {v['group']}, server and key together: {v['words']}."
    ),
    "offload_published": lambda v, *_: (
        f"For an offloader the study found {v['to_same'][0]:.2f} to {v['to_same'][1]:.2f} and "
        f"{v['to_fastest']:.2f}: {v['words']}."
    ),
    "repetitions_published": _repetitions,
}

GROUPS = Study("groups", "domino-2021", MATRIX, adds, SENTENCES)
