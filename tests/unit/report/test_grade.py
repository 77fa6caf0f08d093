"""Gradings as text and as Markdown."""

import html
import io
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from rich.console import Console

from factories.offered import chain, listed, offered, silent
from tlslab.advice.judge import judge
from tlslab.domain.grading import Grading
from tlslab.report.grade import grading_markdown, render_grading
from tlslab.words.grade import forbid_words, headline, suite_name

DAY = date(2026, 11, 24)

HOSTILE = "\x1b[31mred\u202e<script>|`x`\n# head"


def graded(**more: Any) -> Grading:
    return judge(offered(**more), DAY)


def old() -> Grading:
    suites = ("TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_RC4_128_SHA")
    certificates = [chain("RSA-2048", "1.2", "1.0", problem=HOSTILE)]
    return graded(spoken=("1.2", "1.0"), suites=[listed("1.2", suites)], certificates=certificates)


def text(grading: Grading, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO(), highlight=False)
    console.print(render_grading(grading))
    return console.export_text()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_text_fits(width: int) -> None:
    shown = text(old(), width)
    assert all(len(line) <= width for line in shown.splitlines())
    assert "CNSA" in shown
    assert "…" not in shown


# The policies for every server, for a server with HTTP/2.
EVERYONE = "RFC 9325, RFC 10015 and RFC 9113 (HTTP/2)"


def test_the_answer_comes_first() -> None:
    first = " ".join(text(graded(), 160).splitlines()[:1])
    assert first.startswith(f"localhost:8443 offers nothing that {EVERYONE} forbid; ")
    first = " ".join(text(old(), 160).splitlines()[:1])
    assert first.startswith("No known client connects to localhost:8443 (simulated): ")
    shown = " ".join(text(old(), 300).splitlines()[:1])
    assert shown.endswith("the server offers what RFC 9325 and RFC 10015 forbid.")


ENDED = "the limit of 20 connections was reached"


@pytest.mark.parametrize("form", [lambda grading: text(grading, 160), grading_markdown])
def test_a_probe_that_ended_early_passes_nothing(form: Callable[[Grading], str]) -> None:
    found = graded(incomplete=ENDED)
    assert headline(found) == (
        f"Cannot tell whether localhost:8443 offers what {EVERYONE} forbid: the probe ended early "
        f"({ENDED}); nothing that the probe found is forbidden."
    )
    shown = form(found)
    verdicts = re.findall(r"passes(?: so far)?", shown.partition("What is offered")[0])
    assert verdicts
    assert set(verdicts) == {"passes so far"}
    assert "connects with" not in shown
    assert "passes so far" not in form(graded())
    assert "connects with" in form(graded())


@pytest.mark.parametrize("form", [lambda grading: text(grading, 160), grading_markdown])
def test_an_offer_with_a_question_open_passes_nothing(form: Callable[[Grading], str]) -> None:
    questions = [silent("versions", "TLS 1.2"), silent("versions", "TLS 1.1")]
    found = graded(unknown=("1.2", "1.1"), unanswered=questions)
    words = "asked for TLS 1.2, the server gave no answer in 5 s, nor in 15 s"
    assert headline(found) == (
        f"Cannot tell whether localhost:8443 offers what {EVERYONE} forbid: {words}, and 1 other "
        "question had no answer; nothing that the probe found is forbidden."
    )
    shown = form(found)
    verdicts = re.findall(r"passes(?: so far)?", shown.partition("What is offered")[0])
    assert set(verdicts) == {"passes so far"}
    for question in ("TLS 1.2", "TLS 1.1"):
        assert f"not known: asked for {question}" in shown
    assert "connects with" not in shown
    assert "not wholly known" in shown


def test_an_unfinished_probe_can_fail_a_policy() -> None:
    found = replace(old(), incomplete=ENDED)
    assert headline(found) == "localhost:8443 offers what RFC 9325 and RFC 10015 forbid."


def test_one_policy_forbids() -> None:
    found = graded()
    alone = replace(found, policies=tuple(p for p in found.policies if p.name != "rfc10015"))
    one = replace(alone, policies=tuple(p for p in alone.policies if p.name != "rfc9113"))
    assert "offers nothing that RFC 9325 forbids; " in headline(one)


def test_rules_are_cited_and_disagreements_shown() -> None:
    shown = text(old(), 160)
    assert "section 3.1.1: implementations must not negotiate it: TLS 1.0" in shown
    assert "section 4: servers must not select it" in shown
    assert "AES128-SHA" in shown
    assert "Disagreements" in shown
    assert "from 2032-01-01, BSI TR-02102-2: discouraged: TLS 1.2" in shown
    assert "no ClientHello of these clients was sent" in shown


def test_an_item_without_a_grade_has_no_mark() -> None:
    """A hyphen would be a grade."""
    rows = [line.split("|")[1:-1] for line in grading_markdown(old()).splitlines()]
    (tls10,) = [[cell.strip() for cell in row] for row in rows if row and row[0] == " TLS 1.0 "]
    assert tls10[1:] == ["X", "", "", "", "-", "-", "X", "", "-", "X"]


def test_hostile_texts_are_sanitised() -> None:
    shown = text(old(), 160)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    page = grading_markdown(old())
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<script>" not in page
    assert r"\<script\>" in page
    assert "\n# head" not in page


@pytest.mark.parametrize(
    ("code", "words"), [("trusted", "trusted: so it is"), ("expired", "not trusted: so it is")]
)
def test_trust_is_one_line(code: str, words: str) -> None:
    found = graded(trust={"code": code, "message": "so it is"})
    assert words in text(found, 160).splitlines()
    assert f"\n{words}\n" in grading_markdown(found)
    assert "trusted:" not in text(graded(), 160)


def test_markdown_has_the_same_parts() -> None:
    page = grading_markdown(old())
    heads = [line for line in page.splitlines() if line.startswith("#")]
    assert [head.lstrip("# ") for head in heads[1:]] == [
        "Policies",
        "What is offered",
        "Objections",
        "Disagreements",
        "What will change",
        "Known clients \\(simulated\\)".replace("\\", ""),
    ]
    for line in page.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_names_of_suites_are_short() -> None:
    assert suite_name("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256") == "ECDHE-RSA-AES128-GCM-SHA256"
    assert suite_name("TLS_AES_128_GCM_SHA256") == "TLS_AES_128_GCM_SHA256"
    assert suite_name("TLS_RSA_WITH_SEED_CBC_SHA") == "RSA-SEED-CBC-SHA"
    assert suite_name("") == ""


def test_forbid_words() -> None:
    assert forbid_words(["A"]) == "A forbids"
    assert forbid_words(["A", "B", "C"]) == "A, B and C forbid"


def test_it_says_as_of_when_the_policies_are_and_that_they_are_old() -> None:
    newest = max(source.as_of for source in graded().policies)
    words = f"Policies as of {newest}, held against their sources: "
    late = judge(offered(), date(2100, 1, 1))
    for shown in (" ".join(text(graded(), 160).split()), grading_markdown(graded())):
        assert words in shown
        assert "what they say may have changed" not in shown
    for shown in (" ".join(text(late, 160).split()), grading_markdown(late)):
        assert "more than 18 months before 2100-01-01: what they say may have changed" in shown


def test_a_policys_successor_is_named() -> None:
    words = "Mozilla intermediate 6.0 and Mozilla modern 6.0 are carried on at"
    place = "https://data.tlsref.org/guidelines/6.0.json"
    assert f"{words} {place}." in " ".join(text(graded(), 160).split())
    assert f"{words} {place}." in html.unescape(grading_markdown(graded()))
