"""The rule that ends a run in blocks."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from factories.run import World, made_run
from factories.saturated import saturated
from factories.worded import summarise
from tlslab.analysis.compare import Measured
from tlslab.analysis.open_cells import open_pairs, replay, still_open
from tlslab.analysis.ranking import differing
from tlslab.domain.estimate import Estimate
from tlslab.domain.experiment import Experiment
from tlslab.domain.finding import CellSummary
from tlslab.domain.run import RunContents
from tlslab.domain.stopping import Answer, Stopping
from tlslab.experiment import dumps, load, loads, with_levels

RATE = "connections_per_s"
BASELINE = {"group": "A"}
RULE = Stopping(until=0.02)


def cell(name: str, values: list[float]) -> Measured:
    summary = CellSummary(
        name, {"group": name}, "valid", (), len(values), {RATE: Estimate(1, None, None, 1, "", "")}
    )
    return Measured(summary, {RATE: dict(enumerate(values))}, anytime=True)


def cells(rates: Mapping[str, float], noise: float, blocks: int, seed: int = 1) -> list[Measured]:
    draw = np.random.default_rng(seed)
    return [
        cell(name, list(rate * np.exp(draw.normal(0, noise, blocks))))
        for name, rate in rates.items()
    ]


def open_cells(found: list[Measured], answer: Answer = "best") -> frozenset[str]:
    return open_pairs(found, BASELINE, replace(RULE, answer=answer)).cells


def test_distant_cells_are_settled_and_near_ones_are_open() -> None:
    found = cells({"A": 1000, "B": 1005, "C": 300}, noise=0.02, blocks=6)
    assert open_cells(found) == {"A", "B"}


def test_equal_cells_end_once_a_larger_difference_is_excluded() -> None:
    rates = {"A": 1000.0, "B": 1000.0}
    assert open_cells(cells(rates, 0.02, 6)) == {"A", "B"}
    assert open_cells(cells(rates, 0.02, 60)) == frozenset()


def test_the_order_of_beaten_cells_is_pursued_only_for_a_ranking() -> None:
    found = cells({"A": 1000, "B": 300, "C": 301}, noise=0.03, blocks=6, seed=2)
    assert open_cells(found, "best") == frozenset()
    assert open_cells(found, "ranking") == {"B", "C"}


def test_an_invalid_cell_is_not_open() -> None:
    found = cells({"A": 1000, "B": 1005}, noise=0.02, blocks=6)
    invalid = replace(found[1], summary=replace(found[1].summary, verdict="invalid"))
    assert open_cells([found[0], invalid]) == frozenset()


def test_a_rule_that_looks_after_every_block_finds_few_false_differences() -> None:
    # Three equal cells, 25 blocks, a test after each block from the fifth on: 300 such runs.
    runs, wrong = 300, 0
    for seed in range(runs):
        whole = cells({"A": 1000, "B": 1000, "C": 1000}, 0.02, 25, seed)
        wrong += any(
            any(found is not None for found in differing(_first(whole, n), RATE).values())
            for n in range(5, 26)
        )
    assert wrong <= 0.05 * runs


def _first(found: list[Measured], blocks: int) -> list[Measured]:
    return [
        replace(c, values={RATE: {b: v for b, v in c.values[RATE].items() if b < blocks}})
        for c in found
    ]


def experiment(**changes: object) -> Experiment:
    few = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "P-521")}
    return replace(with_levels(load("groups"), few), **changes)  # type: ignore[arg-type]


def stopped(contents: RunContents, rule: Stopping) -> RunContents:
    """The run as the lab makes it: before each block the rule names the cells that continue."""
    kept = replace(contents, trials=())
    for block in range(contents.plan.blocks):
        going = still_open(kept, rule, block)
        new = (t for t in contents.trials if t.block == block and t.cell in going)
        kept = replace(kept, trials=(*kept.trials, *new))
    return kept


@pytest.fixture(name="run")
def _run() -> RunContents:
    world = World(server_us={"X25519": 250.0, "P-256": 254.0, "P-521": 2500.0}, noise=0.01)
    return stopped(made_run(world, experiment=experiment()), RULE)


def test_a_beaten_cell_leaves_after_the_least_blocks_and_does_not_come_back(
    run: RunContents,
) -> None:
    blocks = {
        group: [t.block for t in run.trials if t.factors["group"] == group]
        for group in ("X25519", "P-256", "P-521")
    }
    assert blocks["P-521"] == list(range(RULE.at_least))
    assert len(blocks["X25519"]) > RULE.at_least
    assert blocks["X25519"] == list(range(len(blocks["X25519"]))) == blocks["P-256"]


def test_the_analysis_replays_the_rule_and_calls_no_cell_incomplete(run: RunContents) -> None:
    counts = replay(run, RULE).wanted
    for key, wanted in counts.items():
        assert wanted == sum(trial.cell == key for trial in run.trials)
    summary = summarise(run)
    for found in summary.cells:
        assert found.verdict == "valid"
        assert "incomplete" not in [reason.code for reason in found.reasons]
        assert "confidence sequence" in found.estimates[RATE].method
    ended = next(finding.text for finding in summary.findings if finding.code == "ended")
    assert f"It made {len(run.trials)} of {len(run.plan.trials)} trials" in ended


def test_a_run_that_was_interrupted_is_incomplete(run: RunContents) -> None:
    least = 3 * (RULE.at_least - 1)
    cut = replace(run, trials=run.trials[: least + 1])
    codes = [reason.code for found in summarise(cut).cells for reason in found.reasons]
    assert codes.count("incomplete") == 2
    text = next(each.text for each in summarise(cut).findings if each.code == "ended")
    assert text.startswith("The run ended early, after 5 blocks")


def test_the_rule_is_written_and_read_back() -> None:
    rule = Stopping(until=0.035, answer="ranking", at_least=7, budget_s=600, pilot=0)
    written = dumps(experiment(stopping=rule))
    assert loads(written, "f").stopping == rule
    assert loads(dumps(experiment(stopping=None)), "f").stopping is None


def test_a_run_in_which_nothing_can_be_compared_is_not_called_settled() -> None:
    levels = {"tls": ("1.3",), "key": ("ecdsa-p256",), "group": ("X25519", "P-256", "P-384")}
    experiment = replace(with_levels(load("groups"), levels), stopping=replace(RULE, at_least=5))

    def ended(bounds: set[str]) -> str:
        summary = summarise(made_run(World(change=saturated(bounds)), experiment=experiment))
        return next(f.text for f in summary.findings if f.code == "ended")

    assert "is settled" in ended(set())
    every = ended({"X25519", "P-256", "P-384"})
    assert "no two cells can be compared. 3 comparisons cannot be made" in every
    assert "settled" not in every
    assert "1 comparison" not in ended(set())
    some = ended({"P-384"})
    assert "2 comparisons cannot be made: a cell is invalid, or its rate is a lower bound" in some
