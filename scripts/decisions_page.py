"""The page of the kept decisions, docs/decisions/README.md, by the facts of decisions.json."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HEAD = """\
# Kept decisions

What `tlslab grade`, `tlslab recommend` and `tlslab prove` said of real servers, as it was printed.
`scripts/keep_decisions.py` makes all of it in one go, this page included; the lines quoted here
are in [decisions.json](decisions.json).
"""


def page(facts: Mapping[str, Any], proofs: Iterable[str]) -> str:
    """README.md by the facts; `proofs` are the names of its proofs, in their order."""
    chosen = _chosen(facts["recommend"], facts["runs"])
    return "\n".join([HEAD, *_graded(facts), *chosen, *_proofs(facts, proofs)])


def _graded(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "## Three servers, graded\n"
    yield (
        "Servers as the lab starts them, with an ECDSA P-256 and an RSA-2048 certificate: they "
        "offer what an experiment may ask for, and not what anybody should deploy.\n"
    )
    yield "| server | answer | passes | kept |\n|---|---|---|---|"
    for each in facts["grade"]:
        names = ", ".join(f"`{name}`" for name in each["passes"]) or "none"
        files = f"[text](grade/{each['server']}.txt), [JSON](grade/{each['server']}.json)"
        passes = f"{len(each['passes'])} of the {each['policies']} policies that apply: {names}"
        yield f"| {each['software']} | {each['answer']} | {passes} | {files} |"
    yield "\n[Grade](../reference/grade.md) has the policies and what they are held against.\n"


def _chosen(found: Mapping[str, Any], runs: Mapping[str, Any]) -> Iterator[str]:
    yield "## Two runs, and what they recommend for each kind of server\n"
    for name, run in runs.items():
        yield f"```sh\n{' '.join(run['command'])}\n```\n"
        yield f"Load at the start {run['load']}. [The run](recommend/{name}) is kept.\n"
        if found["reasons"][name]:
            yield f"> {found['reasons'][name]}\n"
    yield "Where the server can be had here, it loaded the file as it is, and was probed.\n"
    yield "| for | by the run of | file | loaded by: what the probe sees |\n|---|---|---|---|"
    for each in found["rows"]:
        if "none" in each:
            yield f"| {each['title']} | | none: {each['none']} | |"
            continue
        server = each["server"]
        files = f"[file](recommend/{server}.conf), [why](recommend/{server}.txt), "
        files += f"[JSON](recommend/{server}.json)"
        yield f"| {each['title']} | {each['run']} | {files} | {_seen(each['loaded'])} |"
    yield (
        "\nExactly: the versions, suites and groups of the file and no others, in its order where "
        "the order is the server's.\n"
    )


def _seen(loaded: Mapping[str, str]) -> str:
    if not loaded:
        return "the server cannot be had here"
    return "; ".join(
        f"{way}: {words}"
        if words.startswith("not loaded")
        else f"{way}: [{words}](recommend/{way}.probe.json)"
        for way, words in loaded.items()
    )


def _proofs(facts: Mapping[str, Any], proofs: Iterable[str]) -> Iterator[str]:
    yield "## Two proofs on nginx\n"
    yield (
        "The candidate is the default of the policies. The machine has "
        f"{facts['good']['processors']} processors, which other work shared: its load at the "
        "start stands with each proof.\n"
    )
    for name in proofs:
        each = facts[name]
        yield f"### {each['title']}\n\n```sh\n{' '.join(each['command'])}\n```\n"
        yield from (f"> {sentence}\n" for sentence in each["sentences"])
        yield f"{each['confidence']}. Load at the start {each['load']}. Its last line:"
        yield f"`{each['ended']}`.\n"
        warnings = [f"- {line}" for line in each["warnings"]]
        yield from ("Its warnings:\n", *warnings, "") if warnings else ("It has no warnings.\n",)
        files = (
            f"[page](prove/{name}.html)",
            f"[text](prove/{name}.txt)",
            f"[baseline](prove/{name}.conf)",
            f"[summary.json](prove/{name}.summary.json.xz)",
        )
        yield f"{', '.join(files)}\n"
    yield "[Prove](../reference/prove.md) says how the verdict is made."
