"""The study of 2021: which key-exchange group, on HCL Domino; two servers, and an offloader.

Beside our ratios of rates stand the study's, where client and server shared one host.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tlslab.domain.deployment import NO_FRONT
from tlslab.domain.estimates import CONNECTIONS, CONNECTIONS_PER_CPU
from tlslab.domain.experiment import MATRIX
from tlslab.domain.finding import Comparison, Finding, Published, Summary
from tlslab.domain.run import RunContents
from tlslab.studies.study import Additions, Figures, Study, source
from tlslab.words.sentence import Sentences

# The estimates beside which the study's requests per second on new connections stand. The second
# counts the work of both sides, as the study's client and server shared one host.
RATES = (CONNECTIONS, CONNECTIONS_PER_CPU)


def adds(contents: RunContents, summary: Summary, figures: Figures) -> Additions:
    """The study's ratios: beside those of groups, of two servers, and of an offloader."""
    return Additions(
        findings=(*_servers(summary, figures["servers"]), *_offload(summary, figures["offloader"])),
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
    group, offloader = candidate.get("group"), figures["offloader"]
    if _behind(candidate):
        same = group == offloader["group"]
        return Published(offloader["to_fastest"], source(figures)) if same else None
    return Published(rates[group] / rates[first], source(figures)) if group in rates else None


def _behind(factors: Mapping[str, str]) -> bool:
    """Whether clients connect to a front before the server."""
    return factors.get("front", NO_FRONT) != NO_FRONT


def _servers(summary: Summary, study: Figures) -> Iterator[Finding]:
    """The study's ratio of two servers, if here, too, an ECDSA server is ahead of an RSA one."""
    for finding in summary.findings:
        if finding.code != "servers":
            continue
        best, other = (summary.cell(key).factors.get("key", "") for key in finding.cells[:2])
        if best.startswith("ecdsa-") and other.startswith("rsa-"):
            yield Finding("servers_published", cells=finding.cells[:2], values=study)


def _offload(summary: Summary, study: Figures) -> Iterator[Finding]:
    """The study's ratios of an offloader to its server alone, for fronts with its group."""
    measured = [each.cells[0] for each in summary.findings if each.code == "offload"]
    cells = [key for key in measured if summary.cell(key).factors["group"] == study["group"]]
    if cells:
        yield Finding("offload_published", cells=tuple(cells), values=study)


SENTENCES: Sentences = {
    "servers_published": lambda v, *_: (
        f"The study found {v['ratio']:.2f} between its two servers: {v['words']}."
    ),
    "offload_published": lambda v, *_: (
        f"For an offloader the study found {v['to_same'][0]:.2f} to {v['to_same'][1]:.2f} and "
        f"{v['to_fastest']:.2f}: {v['words']}."
    ),
}

GROUPS = Study("groups", "domino-2021", MATRIX, adds, SENTENCES)
