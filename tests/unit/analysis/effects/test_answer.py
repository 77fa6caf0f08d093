"""The answer of a question: interactions, alike factors, the cheapest combination."""

import math
from dataclasses import replace
from typing import Any

import pytest

from factories.run import World, made_run
from factories.worded import summarise
from tlslab import analysis
from tlslab.analysis.effects.answer import answer
from tlslab.analysis.effects.ratios import MeasureValues, effects
from tlslab.domain.estimate import Estimate
from tlslab.domain.finding import Statement
from tlslab.domain.trial import Reason, Trial
from tlslab.experiment import question
from unit.analysis.effects.test_ratios import VARIED, measured

CONTENTS = made_run(World(), experiment=question(VARIED, {}, ("new",)))


def stated(found: MeasureValues, code: str) -> dict[str, Any]:
    said = answer(CONTENTS, VARIED, [found], effects(VARIED, [found]), {}, {})
    (one,) = [each for each in said.statements if each.code == code]
    return dict(one.values)


def test_an_effect_that_turns_round_is_said_at_each_level() -> None:
    """1.4 times with one key, 0.71 with the other: on average no effect at all."""
    crossing = {"tls": math.log(1.4), "key": 0.0, "both": -2 * math.log(1.4)}
    found = stated(measured(crossing, 0.01), "effects")["effects"][0]
    assert not found["established"]
    assert [round(at["ratio"].value, 1) for at in found["at"]] == [1.4, 0.7]
    said = answer(CONTENTS, VARIED, *_judged(crossing), {}, {})
    # The other factor's effect depends on this one, too: nothing is left open.
    assert said.lacking is None


def _judged(world: dict[str, float]) -> tuple[list[MeasureValues], Any]:
    found = measured(world, 0.01)
    return [found], effects(VARIED, [found])


def test_a_factor_is_alike_only_if_all_of_its_levels_are() -> None:
    varied = {"tls": ("1.2", "1.3"), "key": ("a", "b", "c")}
    even = measured({"tls": math.log(1.2)}, 0.005, varied=varied)
    found = effects(varied, [even])
    said = answer(CONTENTS, varied, [even], found, {}, {})
    first = said.statements[0].values["effects"][0]
    assert first["alike"] == ["key"]
    noisy = {
        levels: {
            block: value * (1.4 if dict(levels)["key"] == "c" and block % 2 else 1)
            * (1.3 if levels >= {("tls", "1.3")} and dict(levels)["key"] == "c" else 1)
            for block, value in values.items()
        }
        for levels, values in even.values.items()
    }  # fmt: skip
    uneven = MeasureValues(even.measure, even.estimate, noisy)
    said = answer(CONTENTS, varied, [uneven], effects(varied, [uneven]), {}, {})
    assert said.statements[0].values["effects"][0]["alike"] == []


@pytest.mark.parametrize(("key", "ties"), [(0.5, 0), (1.0, 1)])
def test_the_cheapest_combination_has_those_that_are_not_told_apart(key: float, ties: int) -> None:
    found = measured({"tls": math.log(1.5), "key": math.log(key)}, 0.01)
    best = stated(found, "best_combination")
    assert best["levels"]["tls"] == "1.2"
    assert len(best["not_apart"]) == ties


def test_a_whole_run_is_summarised() -> None:
    summary = analysis.summarise(CONTENTS)
    assert summary.answer is not None
    assert isinstance(summary.answer.statements[0], Statement)
    assert [table.id for table in summary.tables][:1] == ["effects-table"]


def test_a_combination_without_a_value_says_why_in_its_row() -> None:
    """TLS 1.2 with RSA, the first row, has no new connections: ratios are to the next one."""

    def change(trial: Trial) -> Trial:
        lost = {"tls": "1.2", "key": "rsa-2048", "resumed": "0%"}
        if not lost.items() <= trial.factors.items():
            return trial
        return replace(trial, status="failed", runs={}, reason=Reason("tcp", "the server is gone"))

    varied = {"tls": ("1.2", "1.3"), "key": ("rsa-2048", "ecdsa-p256")}
    experiment = question(varied, {}, ("new", "resumed"))
    summary = summarise(made_run(World(change=change), experiment=experiment))
    table = next(each for each in summary.tables if each.id == "combinations-table")
    assert table.columns[-1] == "no result"
    first, second, *others = table.rows
    assert first[3] is first[4] is None
    assert "new: " in str(first[-1])
    assert "the server is gone" in str(first[-1])
    assert isinstance(first[5], Estimate)
    assert isinstance(second[3], Estimate)
    assert second[-1] is None
    assert all(isinstance(row[4], Estimate) and row[-1] is None for row in others)


def test_combinations_that_all_have_values_need_no_reason() -> None:
    table = next(t for t in summarise(CONTENTS).tables if t.id == "combinations-table")
    assert "no result" not in table.columns


def test_of_one_level_alone_there_is_nothing_to_compare_and_the_reason_is_said() -> None:
    """A server without tickets on resumed connections of TLS 1.3: their cost is not known."""

    def change(trial: Trial) -> Trial:
        if not {"tls": "1.3", "resumed": "100%"}.items() <= trial.factors.items():
            return trial
        run = trial.runs["capacity"]
        number = run.record.outcomes.completed // 2
        kinds = replace(run.record.kinds, refill_connections=number)
        record = replace(run.record, kinds=kinds)
        return replace(trial, runs={**trial.runs, "capacity": replace(run, record=record)})

    experiment = question({"tls": ("1.2", "1.3")}, {}, ("new", "resumed"))
    summary = summarise(made_run(World(change=change), experiment=experiment))
    assert summary.answer is not None
    text = " ".join(summary.answer.sentences)
    assert "New connection: the server's time with TLS 1.3" in text
    assert "Resumed connection: no result (the server gives no session ticket" in text
    table = next(each for each in summary.tables if each.id == "combinations-table")
    assert "no session ticket" in str(table.rows[1][-1])
