"""A self-test in words, as later runs quote it."""

import json
from dataclasses import replace

from rich.console import Console

from factories.run import made_run
from factories.selftest import made_selftest
from factories.worded import summarise
from tlslab.domain.run import Environment
from tlslab.domain.selftest import Tries
from tlslab.lab.store import from_json, to_json
from tlslab.report import render_html, render_text
from tlslab.report.terminal_results import render_selftest
from tlslab.words.selftest import alarms_words, selftest_words

QUOTED = (
    "tries of 5 blocks on this machine, 2026-03-14: by new connections/s a slowdown of 5 % was "
    "found in 9 of 9 tries (95 %: 66 % to 100 %), with 0 false alarms of 9 tries (more than 34 % "
    "is excluded); by the server's processor time for a new connection no slowdown was found in "
    "every try, with 1 false alarm of 9 tries (95 %: 0.3 % to 48 %)"
)


def shown(part: object) -> str:
    console = Console(width=500, no_color=True)
    with console.capture() as capture:
        console.print(part)
    return capture.get()


def test_few_tries_exclude_little_and_the_words_say_so() -> None:
    assert selftest_words(made_selftest()) == QUOTED
    assert alarms_words(Tries(2, 40, 0.006, 0.169)) == (
        "2 false alarms of 40 tries (95 %: 0.6 % to 17 %)"
    )


def test_the_table_has_every_slowdown() -> None:
    text = shown(render_selftest(made_selftest()))
    for part in ("4 of 9", "9 of 9", "0.983", "0.946 to 0.958", "2.5 % with 5 blocks"):
        assert part in text, part


def test_a_report_quotes_the_self_test_that_its_run_folder_has() -> None:
    contents = made_run(quick=True)
    without = summarise(contents)
    assert "self-test" not in shown(render_text(without))
    kept = replace(contents.environment, selftest=made_selftest())
    again = from_json(json.loads(json.dumps(to_json(kept))), Environment)
    assert again == kept
    summary = summarise(replace(contents, environment=again))
    assert QUOTED in shown(render_text(summary))
    assert QUOTED.replace("'", "&#39;") in render_html(summary)


def test_texts_of_a_foreign_folder_are_sanitised() -> None:
    hostile = replace(made_selftest(), created="\x1b[31m<b>evil", machine={"kernel": "\x1b]0;x"})
    summary = summarise(made_run(quick=True))
    environment = replace(summary.environment, selftest=hostile)
    page = render_html(replace(summary, environment=environment))
    assert "<b>evil" not in page
    assert "\x1b" not in shown(render_selftest(hostile)).replace("\x1b[2m", "").replace(
        "\x1b[0m", ""
    )
