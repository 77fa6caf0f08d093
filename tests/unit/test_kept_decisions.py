"""The kept decisions: the page agrees with them, and each linked file exists."""

import json
import lzma
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kept import proof_verdict
from kept.one_choice import assert_one_choice
from kept.scripts import script
from tlslab.lab.results import analyse
from tlslab.lab.store import RunFolder
from tlslab.report.html import HEAVIEST

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs/decisions"


script("decisions_page")  # keep_decisions imports it
keep_decisions = script("keep_decisions")
FACTS: dict[str, Any] = json.loads((DECISIONS / "decisions.json").read_text("utf-8"))


def test_the_page_is_what_the_facts_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keep_decisions.main(["--check"]) == 0
    for name in ("decisions.json", "README.md"):
        (tmp_path / name).write_text((DECISIONS / name).read_text("utf-8"))
    (tmp_path / "README.md").write_text("something else")
    monkeypatch.setattr(keep_decisions, "DECISIONS", tmp_path)
    assert keep_decisions.main(["--check"]) == 1
    assert "make it anew" in capsys.readouterr().err


def test_every_link_leads_to_a_kept_file() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (DECISIONS / "README.md").read_text("utf-8"))
    assert len(links) > 20
    assert [link for link in links if not (DECISIONS / link).exists()] == []


@pytest.mark.parametrize("graded", FACTS["grade"], ids=lambda each: str(each["server"]))
def test_a_grading_is_quoted_as_it_was_printed(graded: dict[str, Any]) -> None:
    text = " ".join((DECISIONS / f"grade/{graded['server']}.txt").read_text("utf-8").split())
    assert graded["answer"] in text
    verdicts = json.loads((DECISIONS / f"grade/{graded['server']}.json").read_text("utf-8"))
    passed = [each["policy"] for each in verdicts["verdicts"] if each["passes"]]
    assert passed == graded["passes"]


def test_every_server_that_can_be_had_offers_exactly_its_file() -> None:
    loaded = {way: said for row in FACTS["recommend"]["rows"] for way, said in _ways(row)}
    assert {
        "nginx", "apache", "haproxy", "node", "caddy", "openssl",
        "tomcat-jsse", "tomcat-openssl", "jvm",
    } <= set(loaded)  # fmt: skip
    assert set(loaded.values()) == {"exactly"}


def test_each_kind_of_server_is_recommended_for() -> None:
    assert [row["title"] for row in FACTS["recommend"]["rows"] if "none" in row] == []


def _ways(row: dict[str, Any]) -> list[tuple[str, str]]:
    return list(row.get("loaded", {}).items())


@pytest.mark.parametrize(("name", "verdict"), [("poor", "deploy"), ("good", "no_difference")])
def test_a_proof_says_what_its_summary_does(name: str, verdict: str) -> None:
    packed = (DECISIONS / f"prove/{name}.summary.json.xz").read_bytes()
    summary = json.loads(lzma.decompress(packed))
    assert summary["proof"]["verdict"] == proof_verdict.verdict(summary["proof"]) == verdict
    facts = FACTS[name]
    assert facts["sentences"] == summary["answer"]["sentences"]
    page = DECISIONS / f"prove/{name}.html"
    assert page.stat().st_size <= HEAVIEST


@pytest.mark.parametrize("run", list(keep_decisions.RUNS))
def test_the_report_of_a_kept_run_quotes_what_was_recommended(run: str, tmp_path: Path) -> None:
    """The same choice, and for each kind of server the same file."""
    kept, path = DECISIONS / "recommend" / run, tmp_path / run
    shutil.copytree(kept, path, ignore=shutil.ignore_patterns("*.xz"))
    (path / "trials.jsonl").write_bytes(lzma.decompress((kept / "trials.jsonl.xz").read_bytes()))
    folder = RunFolder.open(path)
    summary = analyse(folder)
    assert_one_choice(folder, summary)
    texts = {block.id: block.text for block in summary.texts}
    rows = [row["server"] for row in FACTS["recommend"]["rows"] if row["run"] == run]
    quoted = [server for server in rows if f"emit-{server}" in texts]
    assert quoted
    for server in quoted:
        file = DECISIONS / f"recommend/{server}.conf"
        assert texts[f"emit-{server}"] == file.read_text("utf-8")
