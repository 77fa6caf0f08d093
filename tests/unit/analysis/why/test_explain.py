"""The additions of call-stack samples to a summary."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from factories.costs import made_calibration
from factories.run import SERVER_US, World, made_run
from factories.stacks import DERIVE, SIGN, TCP, made_stacks, sampled_run
from factories.worded import summarise
from tlslab import analysis
from tlslab.analysis.why.effects import CELLS, MODEL
from tlslab.domain.finding import Note, Summary
from tlslab.domain.run import RunContents
from tlslab.lab.results import analysed


def explained(contents: RunContents) -> Summary:
    return summarise(contents)


def test_a_run_without_samples_is_left_as_it_is() -> None:
    contents = made_run(quick=True)
    summary = summarise(contents)
    assert analysis.explained(summary, contents) is summary


def test_each_cell_has_a_bar_as_long_as_its_cost() -> None:
    contents = sampled_run()
    summary = explained(contents)
    assert summary.why is not None
    assert {cell.cell for cell in summary.why.cells} == {c.key for c in contents.plan.cells}
    figure = next(each for each in summary.figures if each.id == "why")
    assert figure.kind == "stacked_bars"
    for cell in summary.why.cells:
        known = summary.cell(cell.cell).estimates["server_cpu_us_per_connection"]
        assert cell.cost == known
        assert sum(part.estimate.value for part in cell.parts) == pytest.approx(known.value)
    assert 1 <= len(summary.flames) <= 6


def test_reasons_of_cells_without_samples_are_said_once_each() -> None:
    contents = sampled_run()
    silent = tuple(replace(each, reason="perf is not installed") for each in contents.stacks)
    summary = explained(replace(contents, stacks=silent))
    assert summary.why is not None
    assert summary.why.cells == ()
    assert set(summary.why.without.values()) == {"perf is not installed"}
    said = [each.text for each in summary.findings if each.code == "why_without_samples"]
    assert said == [f"No parts of the cost of {len(silent)} cells: perf is not installed."]
    assert not any(each.id == "why" for each in summary.figures)
    assert summary.flames == ()


def test_a_cell_without_a_cost_and_one_without_samples_have_no_parts() -> None:
    contents = sampled_run()
    summary = summarise(contents)
    first, second, *others = summary.cells
    bare = replace(first, estimates={}, reasons=(Note("nothing_completed", "none completed"),))
    stacks = [replace(e, folded="") if e.cell == second.key else e for e in contents.stacks]
    found = analysis.explained(
        replace(summary, cells=(bare, second, *others)), replace(contents, stacks=tuple(stacks))
    )
    assert found.why is not None
    assert found.why.without == {
        first.key: "the cell has no measured cost of the server",
        second.key: "perf took no sample of the server",
    }


def test_an_invalid_cell_has_no_parts_and_no_sentence() -> None:
    contents = sampled_run()
    summary = analysed(contents)
    named = [f for f in analysis.explained(summary, contents).findings if f.code == "why"]
    key = named[0].cells[0]
    note = Note("rate_fell", "the rate fell in most trials")
    cells = tuple(
        replace(cell, verdict="invalid", reasons=(note,)) if cell.key == key else cell
        for cell in summary.cells
    )
    found = analysis.explained(replace(summary, cells=cells), contents)
    assert found.why is not None
    assert found.why.without == {key: "the cell is invalid"}
    said = [each for each in found.findings if each.code.startswith("why")]
    assert len(said) > 2
    assert not any(key in each.cells for each in said)


def effects(server_us: Mapping[str, float], noise: float) -> list[str]:
    """The sentences on effects if a connection with a group costs the server this much."""
    world = World(server_us={**SERVER_US, **server_us}, noise=noise)
    contents = replace(sampled_run(), trials=made_run(world, quick=True).trials)
    return [each.text for each in explained(contents).findings if " instead of " in each.text]


def test_an_effect_below_nothing_costs_less() -> None:
    texts = effects({"X25519": 900.0}, noise=0.01)
    value = r"[\d.]+ \(95 %: [\d.]+ to [\d.]+\) µs"
    said = re.compile(f"P-384 instead of X25519 costs the server {value} less by the costs of two")
    assert any(said.match(text) for text in texts)
    assert not any("less is not excluded" in text.partition(";")[0] for text in texts)


def test_an_effect_that_is_not_established_may_be_either() -> None:
    texts = effects({"X25519": 280.0}, noise=0.05)
    value = r"[\d.]+ \(95 %: -[\d.]+ to [\d.]+\) µs"
    either = r"(more \(less|less \(more) is not excluded\)"
    said = re.compile(f"P-256 instead of X25519 costs the server {value} {either} by the costs of")
    assert any(said.match(text) for text in texts)


@pytest.mark.parametrize(("lost", "said"), [(0, 0), (10, 0), (60, 1)])
def test_lost_samples_are_said_above_one_per_cent(lost: int, said: int) -> None:
    contents = sampled_run()
    first, *others = contents.stacks
    found = explained(replace(contents, stacks=(replace(first, lost=lost), *others)))
    texts = [each.text for each in found.findings if each.code == "why_lost_samples"]
    assert len(texts) == said
    assert all(f"({lost})" in text and "perf lost 3 %" in text for text in texts)


def test_few_blocks_carry_no_sentence() -> None:
    contents = sampled_run()
    one = [trial for trial in contents.trials if trial.block == 0]
    plan = replace(contents.plan, blocks=1, trials=contents.plan.trials[: len(one)])
    codes = [f.code for f in explained(replace(contents, plan=plan, trials=tuple(one))).findings]
    assert not any(code.startswith("why") for code in codes)


def calibrated(share: float) -> Summary:
    """A calibration in which the key exchange has this share of the additional cost of P-384."""
    contents = made_calibration(noise=0.005)
    summary = summarise(contents)
    cells = [
        cell
        for cell in summary.cells
        if cell.factors["key"] == "ecdsa-p256" and cell.factors["resumed"] == "0%"
    ]
    centre = next(cell for cell in cells if cell.factors["group"] == "X25519")
    other = next(
        cell
        for cell in cells
        if dict(cell.factors) == {**centre.factors, "group": cell.factors["group"]}
        and cell is not centre
    )
    name = "server_cpu_us_per_connection"
    costs = {cell.key: cell.estimates[name].value for cell in (centre, other)}
    more = costs[other.key] - costs[centre.key]
    stacks = []
    for cell, derive in ((centre, 50.0), (other, 50.0 + share * more)):
        counts = {DERIVE: derive, SIGN: 60.0, TCP: costs[cell.key] - 60.0 - derive}
        scaled = {stack: round(count * 400) for stack, count in counts.items()}
        stacks.append(made_stacks(scaled, cell.key, cell.factors))
    return explained(replace(contents, stacks=tuple(stacks)))


@pytest.mark.parametrize(
    ("share", "verdict", "words"),
    [
        (1.0, "agree", "they agree, less than a quarter of the effect is in other parts"),
        (0.3, "do_not_agree", "they do not agree"),
    ],
)
def test_a_part_is_compared_with_the_cost_model(share: float, verdict: str, words: str) -> None:
    summary = calibrated(share)
    assert summary.why is not None
    found = [each for each in summary.why.effects if each.part == "key exchange"]
    assert found
    assert all(each.source == MODEL for each in found)
    assert [each.verdict for each in found] == [verdict]
    assert any(words in each.text for each in summary.findings)


def test_without_a_cost_model_cells_are_compared() -> None:
    summary = explained(sampled_run())
    assert summary.why is not None
    assert {each.source for each in summary.why.effects} == {CELLS}
    assert {each.part for each in summary.why.effects} == {"key exchange"}
    for each in summary.why.effects:
        assert each.effect.value == pytest.approx(each.sampled.value + each.elsewhere.value)
