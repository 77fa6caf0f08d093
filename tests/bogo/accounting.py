"""Accounts for each TLS 1.3 client case of BoGo, and writes docs/reference/bogo.md.

`accounting.py OUTCOMES [--write]`: the folder OUTCOMES has one file of outcomes per client. Fails
if a case is not accounted for, if a reason is stale, or if the committed page is out of date.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reference" / "bogo.md"
CLIENTS = {"minimal": "Minimal client", "rustls": "rustls", "openssl": "OpenSSL"}
RESULTS = ("passed", "unimplemented", "failed")

# The highest number of cases per client whose outcome may depend on how the server's bytes arrive.
VARYING = 2


@dataclass(frozen=True)
class Case:
    """A case with one client: its result, and the runner's message or the missing flag."""

    name: str
    result: str
    words: str = ""


@dataclass(frozen=True)
class Client:
    """The outcomes of a client, and the reasons for its failed and unimplemented cases."""

    name: str
    cases: list[Case]
    disabled: dict[str, str]  # pattern: reason
    flags: dict[str, str]  # flag: reason

    def pattern_of(self, case: Case) -> str | None:
        """The pattern that disables a case."""
        return next((p for p in self.disabled if fnmatchcase(case.name, p)), None)

    def of(self, result: str) -> list[Case]:
        """The cases with this result."""
        return [case for case in self.cases if case.result == result]


def problems(client: Client) -> list[str]:
    """The cases that are not accounted for, and the reasons that are stale."""
    found = []
    for case in client.cases:
        pattern = client.pattern_of(case)
        if case.result == "failed" and pattern is None:
            found.append(f"{case.name} fails, and no reason is given:\n{case.words}")
        if case.result == "passed" and pattern is not None:
            found.append(f"{case.name} passes, but {pattern} is disabled: remove it")
        if case.result == "unimplemented" and case.words not in client.flags:
            found.append(f"{case.name} needs {case.words or 'a flag'}, which has no reason")
        if case.result not in RESULTS:
            found.append(f"{case.name} is neither passed nor failed: {case.result}")
    failed = [case.name for case in client.of("failed")]
    for pattern, reason in client.disabled.items():
        if not any(fnmatchcase(name, pattern) for name in failed):
            found.append(f"{pattern} names no case that fails: remove it")
        if len(reason.split()) < 4:
            found.append(f"{pattern} has no reason in words")
    return [f"{client.name}: {problem}" for problem in found]


def problems_of_all(clients: list[Client], common_flags: dict[str, str]) -> list[str]:
    """The faults of each client, and those between clients."""
    found = [problem for client in clients for problem in problems(client)]
    names = [[case.name for case in client.cases] for client in clients]
    if not names or not names[0]:
        found.append("there are no cases")
    if any(other != names[0] for other in names):
        found.append("the clients have not run the same cases")
    met = {c.words for client in clients for c in client.of("unimplemented")}
    found += [
        f"no case needs {flag}: remove its reason" for flag in common_flags if flag not in met
    ]
    for client in clients:
        own = {case.words for case in client.of("unimplemented")}
        found += [
            f"{client.name}: no case needs {flag}: remove its reason"
            for flag in client.flags
            if flag not in common_flags and flag not in own
        ]
    return found


def page(clients: list[Client], common_flags: dict[str, str]) -> str:
    """The page of the documentation."""
    total = len(clients[0].cases)
    lines = [
        "# TLS 1.3 client cases of BoGo",
        "",
        "Made by `scripts/bogo.sh --write`; a test checks that it is up to date.",
        "",
        f"BoringSSL's test suite BoGo has {total} cases in which a server meets a client that can "
        "speak TLS 1.3 over TCP. Each runs with each client of the engine "
        "([ADR 0047](../adr/0047-rules-and-bogo.md)). A case is *unimplemented* when it "
        "asks the client for something that tlslab does not do, and *disabled* when it fails for a "
        "reason that is given below.",
        "",
        "| Client | Passed | Unimplemented | Disabled |",
        "|---|---:|---:|---:|",
    ]
    for client in clients:
        passed, unimplemented, failed = (len(client.of(result)) for result in RESULTS)
        lines.append(f"| {CLIENTS[client.name]} | {passed} | {unimplemented} | {failed} |")
    lines += flag_tables(clients, common_flags)
    for client in clients:
        lines += disabled_table(client)
    return "\n".join(lines) + "\n"


def flag_tables(clients: list[Client], common_flags: dict[str, str]) -> list[str]:
    """The unimplemented cases, by the first flag that a client lacks."""
    counts = {c.name: Counter(case.words for case in c.of("unimplemented")) for c in clients}
    heads = [CLIENTS[client.name] for client in clients]
    lines = [
        "",
        "## Unimplemented",
        "",
        "By the first flag of the case that a client does not implement; the numbers are cases.",
        "",
        f"| Flag | {' | '.join(heads)} | Reason |",
        f"|---|{'---:|' * len(clients)}---|",
    ]
    rows = [(flag, reason, clients) for flag, reason in common_flags.items()]
    for client in clients:
        own = {flag: why for flag, why in client.flags.items() if flag not in common_flags}
        rows += [(flag, reason, [client]) for flag, reason in own.items()]
    for flag, reason, whose in sorted(rows, key=lambda row: row[:2]):
        numbers = [str(counts[c.name][flag] or "-") if c in whose else "-" for c in clients]
        lines.append(f"| `{flag}` | {' | '.join(numbers)} | {reason} |")
    return lines


def disabled_table(client: Client) -> list[str]:
    """The failed cases of a client, by reason."""
    cases: dict[str, list[str]] = {}
    for case in client.of("failed"):
        pattern = client.pattern_of(case)
        reason = client.disabled[pattern] if pattern else "unaccounted for"
        cases.setdefault(reason, []).append(case.name)
    lines = ["", f"## Disabled: {CLIENTS[client.name]}", "", "| Cases | Reason | Which |"]
    lines.append("|---:|---|---|")
    for reason, names in sorted(cases.items(), key=lambda item: (-len(item[1]), item[0])):
        which = ", ".join(f"`{name}`" for name in sorted(names))
        lines.append(f"| {len(names)} | {reason} | {which} |")
    return lines


def read(folder: Path) -> tuple[list[Client], dict[str, str]]:
    """The clients' outcomes from this folder, and the reasons from the folder of this file."""
    flags = json.loads((HERE / "flags.json").read_text())
    clients = []
    for name in CLIENTS:
        outcomes = json.loads((folder / f"{name}.json").read_text())
        reasons = json.loads((HERE / f"{name}.json").read_text())
        varying = reasons.get("Varying", {})
        cases = [settled(Case(o["name"], o["result"], o["words"]), varying) for o in outcomes]
        disabled = reasons["DisabledTests"] | varying
        clients.append(Client(name, cases, disabled, flags["all"] | flags[name]))
    return clients, flags["all"]


def settled(case: Case, varying: dict[str, str]) -> Case:
    """The result of a case; with a varying outcome it counts as disabled, passed or failed."""
    if len(varying) > VARYING:
        raise ValueError(f"more than {VARYING} cases that vary")
    varies = case.name in varying and case.result == "passed"
    return Case(case.name, "failed", "passes this time") if varies else case


def main() -> int:
    """Prints the faults, then the counts."""
    clients, common_flags = read(Path(sys.argv[1]))
    found = problems_of_all(clients, common_flags)
    text = page(clients, common_flags)
    if "--write" in sys.argv:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        found.append("docs/reference/bogo.md is out of date: scripts/bogo.sh --write")
    for problem in found:
        sys.stderr.write(problem.rstrip() + "\n")
    for client in clients:
        counts = ", ".join(f"{len(client.of(r))} {r}" for r in RESULTS)
        sys.stdout.write(f"{client.name}: {counts.replace('failed', 'disabled')}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
