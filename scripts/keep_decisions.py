#!/usr/bin/env python3
"""Makes docs/decisions from real runs, in one go: `grade`, `recommend` and `prove` on real servers.

    .venv/bin/python scripts/keep_decisions.py [--check] [grade] [runs] [recommend] [poor] [good]

Without names: all of them, in about half an hour. Proofs (`poor`, `good`) and the runs that are
recommended from (`runs`) are measurements, so that the machine should be left alone; `recommend`
takes the runs that are kept. What a command printed
is kept as it was. decisions.json has what README.md shows of it, and README.md is made of that.
`--check` makes and writes nothing; it ends with 1 if README.md is not what decisions.json says.
Needs the servers that the tests need: scripts/install-debian.sh, `make tomcat`.
"""

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from decisions_page import page

ROOT = Path(__file__).resolve().parents[1]
DECISIONS = ROOT / "docs/decisions"
FACTS = "decisions.json"
PAGE = "README.md"

sys.path[:0] = [str(ROOT / "tests")]

GRADED = ("nginx", "apache", "haproxy")
KEYS = ("ecdsa-p256", "rsa-2048")
GROUPS = ("X25519", "P-256", "P-384")

# Each kind of server uses the first of these runs that compares a factor it can set.
RUNS = {
    "groups": (
        "run", "groups", "--quick", "--target", "nginx", "--set", "tls=1.3",
        "--set", "key=ecdsa-p256", "--blocks", "10", "--seed", "1", "--out", "groups",
    ),
    "suites": (
        "run", "suites", "--quick", "--target", "node", "--blocks", "10", "--seed", "1",
        "--out", "suites",
    ),
}  # fmt: skip
RUN_FILES = ("experiment.toml", "environment.json", "plan.json")
TRIALS = "trials.jsonl"


@dataclass(frozen=True)
class Proof:
    """A proof to be kept: the baseline's file, and further options of the command."""

    title: str
    baseline: str
    options: tuple[str, ...] = ()


PROOFS = {
    "poor": Proof(
        "A poor baseline: P-384 first, RSA-4096, AES-256-CBC",
        """\
ssl_protocols TLSv1.2;
ssl_prefer_server_ciphers on;
ssl_ciphers ECDHE-RSA-AES256-SHA384:ECDHE-RSA-AES256-SHA;
ssl_ecdh_curve secp384r1:prime256v1;
ssl_session_cache shared:SSL:1m;
""",
        ("--key", "rsa-4096"),
    ),
    "good": Proof(
        "A baseline that is good already",
        """\
ssl_protocols TLSv1.2 TLSv1.3;
ssl_prefer_server_ciphers on;
ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:\
ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256;
ssl_ecdh_curve X25519:prime256v1:secp384r1;
ssl_session_cache shared:SSL:1m;
""",
        ("--blocks", "64"),
    ),
}

Facts = dict[str, Any]


def lab(folder: Path, *arguments: str, ends: Sequence[int] = (0,)) -> tuple[str, str]:
    """The output of a tlslab command in a folder of its own: standard output, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "tlslab", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in ends:
        sys.exit(f"tlslab {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout, done.stderr


def keep(name: str, text: str) -> None:
    """Writes a kept file."""
    path = DECISIONS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()), "utf-8")


@contextmanager
def started(server: str, folder: Path) -> Iterator[tuple[str, Path, str]]:
    """A server of the lab with its default settings: its place, its authority, its software."""
    from tlslab.servers import Setting, find_kind

    target = find_kind(server).make(Setting(folder, KEYS, GROUPS, 100, ()))
    target.prepare()
    authority = folder / "ca.pem"
    authority.write_text(target.trust_pem)
    running = target.start()
    try:
        yield urlsplit(running.url).netloc, authority, f"{target.software}, {target.backend}"
    finally:
        running.stop()


def grade() -> list[Facts]:
    """Each server graded, as text and as JSON."""
    found = []
    for server in GRADED:
        with TemporaryDirectory() as made, started(server, Path(made)) as (place, ca, software):
            command = ("grade", place, "--sni", "localhost", "--ca", str(ca))
            text, said = lab(Path(made), *command, ends=(0, 1))
            data, _ = lab(Path(made), *command, "--json", ends=(0, 1))
        keep(f"grade/{server}.txt", f"{text}\n{said.splitlines()[-1]}")
        keep(f"grade/{server}.json", data)
        passed = [each for each in json.loads(data)["verdicts"] if each["passes"]]
        found.append(
            {
                "server": server,
                "software": software,
                "answer": " ".join(text.partition("graded as of")[0].split(place)[1].split()),
                "passes": [each["policy"] for each in passed],
                "policies": len(json.loads(data)["verdicts"]),
            }
        )
    return found


def measured() -> Facts:
    """The runs behind recommendations: their commands, and the load at their start."""
    return {name: _measured(name, command) for name, command in RUNS.items()}


def _measured(name: str, command: Sequence[str]) -> Facts:
    with TemporaryDirectory() as made:
        folder = Path(made)
        lab(folder, *command, ends=(0, 1))
        for file in RUN_FILES:
            keep(f"recommend/{name}/{file}", (folder / name / file).read_text("utf-8"))
        trials = lzma.compress((folder / name / TRIALS).read_bytes(), preset=9)
        (DECISIONS / f"recommend/{name}/{TRIALS}.xz").write_bytes(trials)
        machine = json.loads((folder / name / "environment.json").read_text("utf-8"))["machine"]
    return {"command": ["tlslab", *command], "load": round(machine["load_average"], 1)}


def recommend() -> Facts:
    """The recommendations from the kept runs for each kind of server, loaded and probed."""
    from tlslab.advice.emit import FORMS

    with TemporaryDirectory() as made:
        folder = Path(made)
        for name in RUNS:
            kept = DECISIONS / "recommend" / name
            shutil.copytree(kept, folder / name, ignore=shutil.ignore_patterns("*.xz"))
            trials = lzma.decompress((kept / f"{TRIALS}.xz").read_bytes())
            (folder / name / TRIALS).write_bytes(trials)
        rows = [_recommended(folder, server, form.title) for server, form in FORMS.items()]
    reasons = {name: _reason(rows, name) for name in RUNS}
    return {
        "reasons": reasons,
        "rows": [{name: row[name] for name in row if name != "reason"} for row in rows],
    }


def _reason(rows: Sequence[Facts], run: str) -> str:
    return next((str(row["reason"]) for row in rows if row.get("run") == run), "")


def _recommended(folder: Path, server: str, title: str) -> Facts:
    from live.test_recommended_configurations import SERVERS, form_of

    said = ""
    for run in RUNS:
        asked = ("recommend", run, "--for", server)
        data, said = lab(folder, *asked, "--json", ends=(0, 2))
        if data:
            break
    else:
        return {"server": server, "title": title, "none": said.splitlines()[0]}
    found = json.loads(data)
    _, explained = lab(folder, *asked)
    keep(f"recommend/{server}.txt", explained)
    keep(f"recommend/{server}.json", json.dumps(found, indent=1))
    keep(f"recommend/{server}.conf", found["configuration"])
    ways = [way for way in SERVERS if form_of(way) == server]
    return {
        "server": server,
        "title": title,
        "run": run,
        "reason": found["reason"],
        "order": found["order"],
        "loaded": {way: _loaded(folder, way, found) for way in ways},
    }


def _loaded(folder: Path, way: str, found: Facts) -> str:
    """Whether the probe finds exactly the offer of the file; the probe's result is kept."""
    from live.emitted import serving
    from live.test_recommended_configurations import SERVERS, assert_offers, lists, probed
    from tlslab.domain.errors import CannotRunError

    try:
        with serving(way, folder / f"served-{way}", found["configuration"], SERVERS[way]) as place:
            seen = probed(place)
    except CannotRunError as error:
        return f"not loaded: {error.message}"
    offered = {topic: lists(seen, topic) for topic in ("suites", "groups")}
    versions = [each["version"] for each in seen["versions"] if each["accepted"]]
    keep(f"recommend/{way}.probe.json", json.dumps({"versions": versions, **offered}, indent=1))
    try:
        assert_offers(way, seen, found["offer"])
    except AssertionError as error:
        return f"differs: {str(error).splitlines()[0]}"
    return "exactly"


def prove(name: str) -> Facts:
    """A proof: its page, its text, its summary."""
    proof = PROOFS[name]
    file = f"{name}.conf"
    command = ("prove", "--for", "nginx", "--baseline", file, *proof.options, "--seed", "1")
    with TemporaryDirectory() as made:
        folder = Path(made)
        (folder / file).write_text(proof.baseline, "utf-8")
        data, said = lab(folder, *command, "--out", name, "--json", ends=(0, 1, 4))
        text, _ = lab(folder, "report", name, "--details", ends=(0, 1))
        keep(f"prove/{file}", proof.baseline)
        keep(f"prove/{name}.txt", f"{text}\n{said.splitlines()[-1]}")
        shutil.copy(folder / name / "report.html", DECISIONS / f"prove/{name}.html")
    packed = lzma.compress(data.encode(), preset=9)
    (DECISIONS / f"prove/{name}.summary.json.xz").write_bytes(packed)
    return proof_facts(name)


def proof_facts(name: str) -> Facts:
    """The page's quotations from a kept proof."""
    packed = (DECISIONS / f"prove/{name}.summary.json.xz").read_bytes()
    summary = json.loads(lzma.decompress(packed))
    text = (DECISIONS / f"prove/{name}.txt").read_text("utf-8")
    from tlslab.domain.finding import Summary
    from tlslab.lab.store import from_json
    from tlslab.report import warning_lines

    answer, machine = summary["answer"], summary["environment"]["machine"]
    lacking = answer["lacking"]
    return {
        "title": PROOFS[name].title,
        "command": summary["environment"]["command"],
        "ended": text.splitlines()[-1],
        "sentences": answer["sentences"] or [f"Not enough to say. {lacking['why']}"],
        "confidence": answer["confidence"],
        "warnings": warning_lines(from_json(summary, Summary)),
        "load": round(machine["load_average"], 1),
        "processors": machine["processors"],
    }


PARTS: dict[str, Callable[[], Any]] = {
    "grade": grade,
    "runs": measured,
    "recommend": recommend,
    **{name: partial(prove, name) for name in PROOFS},
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the requested parts; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    given = parser.parse_args(arguments)
    facts_file, page_file = DECISIONS / FACTS, DECISIONS / PAGE
    facts = json.loads(facts_file.read_text("utf-8")) if facts_file.exists() else {}
    if not given.check:
        for name in given.parts or PARTS:
            facts[name] = PARTS[name]()
            facts_file.write_text(f"{json.dumps(facts, indent=1)}\n", "utf-8")
        if set(facts) == set(PARTS):
            page_file.write_text(f"{page(facts, PROOFS)}\n", "utf-8")
        return 0
    if page_file.read_text("utf-8") == f"{page(facts, PROOFS)}\n":
        return 0
    sys.stderr.write(f"{page_file} is not what {FACTS} says: make it anew\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
