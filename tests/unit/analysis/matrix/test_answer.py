"""What a run of the kind `matrix` says first, and when it says nothing."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from factories.run import SERVER_US, TEN_BLOCKS, Change, World, made_run
from factories.saturated import idle, saturated
from tlslab.analysis import summarise
from tlslab.experiment import with_levels
from tlslab.model.answer import Answer
from tlslab.model.experiment import Experiment
from tlslab.model.figure import Figure
from tlslab.model.finding import Summary
from tlslab.model.trial import Reason, Trial

ONE = {"tls": ("1.3",), "key": ("ecdsa-p256",)}
EQUAL = dict.fromkeys(SERVER_US, 255.0)
LIGHT = dict.fromkeys(SERVER_US, 100.0)


def few(*groups: str, blocks: int = 10) -> Experiment:
    levels = {**ONE, "group": groups or tuple(SERVER_US)}
    return replace(with_levels(TEN_BLOCKS, levels), blocks=blocks)


def answer_of(summary: Summary) -> Answer:
    assert summary.answer is not None
    return summary.answer


def figure_of(summary: Summary, name: str) -> Figure:
    return next(figure for figure in summary.figures if figure.id == name)


def test_it_names_the_fastest_with_its_interval_and_the_next(full_summary: Summary) -> None:
    answer = answer_of(full_summary)
    assert answer.question == "Which key-exchange group is fastest here?"
    assert re.fullmatch(
        r"X25519 is the fastest key-exchange group: 3,8\d\d \(95 %: 3,\d{3} to 3,\d{3}\) new "
        r"connections/s on one processor of nginx \(TLS 1\.3, ECDSA P-256\), 1\.0\d+ times "
        r"\(95 %: [\d.]+ to [\d.]+\) that of P-256\.",
        answer.sentences[0],
    )
    assert answer.sentences[1:] == (
        "In the 3 other settings none is established to be faster than X25519.",
    )
    assert answer.confidence.startswith("10 blocks in random order, intervals of 95 %; 15 pairs")
    assert answer.lacking is None
    assert answer.figure == "setting-1-rate"
    assert len(answer.tiles) == 5
    assert answer.tiles[0].estimate == full_summary.cells[0].estimates["connections_per_s"]


def test_fewer_than_five_blocks_make_no_sentence() -> None:
    summary = summarise(made_run(experiment=few(blocks=4)))
    answer = answer_of(summary)
    assert answer.sentences == ()
    assert answer.tiles == ()
    assert answer.lacking is not None
    assert answer.lacking.why == "4 blocks: fewer than 5 carry no sentence."
    words = ("tlslab", "run", "groups", "--target", "nginx", "--blocks", "5")
    assert answer.lacking.command == words
    assert not [finding for finding in summary.findings if finding.cells]
    ranking = figure_of(summary, answer.figure).series[0]
    assert {*ranking.low, *ranking.high} == {None}
    assert all(len(each) == 4 for each in ranking.samples)


def test_how_long_enough_takes_is_known_from_the_trials() -> None:
    began = datetime.fromisoformat("2026-03-14T09:27:00+00:00")

    def later(trial: Trial) -> Trial:
        return replace(trial, started=(began + timedelta(seconds=3 * trial.trial)).isoformat())

    answer = answer_of(summarise(made_run(World(change=later), experiment=few(blocks=4))))
    assert answer.lacking is not None
    # Four blocks of six cells take 72 s.
    assert answer.lacking.minutes == pytest.approx(1.5)


def test_equal_cells_are_near_each_other_and_none_is_crowned() -> None:
    summary = summarise(
        made_run(World(server_us=EQUAL, client_us=LIGHT, noise=0.01), experiment=few())
    )
    (sentence,) = answer_of(summary).sentences
    assert sentence.startswith("All 6 key-exchange groups are within ")


def test_noise_that_hides_everything_says_so_and_what_would_be_enough() -> None:
    world = World(server_us=EQUAL, client_us=LIGHT, noise=0.25, seed=5)
    answer = answer_of(summarise(made_run(world, experiment=few())))
    assert answer.sentences == ()
    assert answer.lacking is not None
    assert answer.lacking.why.startswith("No two of the 6 key-exchange groups can be told apart")
    assert answer.lacking.command[-4:-2] == ("--until", "5%")
    assert int(answer.lacking.command[-1]) > 10


def test_a_lower_bound_leads_as_one() -> None:
    world = World(change=saturated({"X25519", "P-521"}))
    summary = summarise(made_run(world, experiment=few()))
    answer = answer_of(summary)
    assert answer.sentences[0].startswith("X25519 is the fastest key-exchange group: ≥ 3,8")
    assert ", at least 1.0" in answer.sentences[0]
    assert answer.tiles[0].bound
    assert answer.sentences[1].startswith("How fast P-521 (≥ 1,5")
    series = figure_of(summary, "setting-1-rate").series[0]
    assert dict(zip(series.x, series.bounds, strict=True))["X25519"]
    # P-521 keeps its place by value, though nothing is known to be better than it.
    assert series.x[-1] == "P-521"
    ranking = next(r for r in summary.rankings if r.estimate == "connections_per_s")
    assert (ranking.places[-1].best, ranking.places[-1].worst) == (1, 6)


def test_where_all_are_lower_bounds_the_cost_answers() -> None:
    summary = summarise(made_run(World(change=saturated(SERVER_US)), experiment=few()))
    answer = answer_of(summary)
    assert answer.sentences[0].startswith("X25519 is the cheapest key-exchange group: 25")
    assert answer.figure == "setting-1-server-ranking"
    rates = figure_of(summary, "setting-1-rate").series[0]
    assert all(rates.bounds)


def test_figures_of_a_setting_carry_what_the_cells_do(full_summary: Summary) -> None:
    assert len({figure.id for figure in full_summary.figures}) == len(full_summary.figures)
    for number in range(1, 5):
        ranking = figure_of(full_summary, f"setting-{number}-rate")
        assert ranking.kind == "ranking"
        assert all(len(samples) == 10 for samples in ranking.series[0].samples)
        cost = figure_of(full_summary, f"setting-{number}-server-cost")
        assert [series.name for series in cost.series] == ["user", "system"]
        assert cost.series[0].x == ranking.series[0].x
    use = figure_of(full_summary, "setting-1-use-1-server")
    assert use.kind == "areas"
    user, system = (series.y for series in use.series)
    assert all(u + s <= 1 + 1e-9 for u, s in zip(user, system, strict=True) if u and s)


THREE = ("X25519", "P-256", "P-384")


def died(trial: Trial) -> Trial:
    """The trial without a result, if it is one of P-384."""
    if trial.factors["group"] != "P-384":
        return trial
    reason = Reason("server_died", "the server died")
    return replace(trial, status="failed", runs={}, reason=reason)


@pytest.mark.parametrize(
    ("groups", "change", "words"),
    [
        (THREE, idle({"P-384"}), "P-384 (not the server's limit)"),
        (THREE, died, "P-384 (no valid result)"),
        (
            (*THREE, "X448", "P-521"),
            idle({"P-384", "X448", "P-521"}),
            "P-384, X448 and P-521 (not the server's limit)",
        ),
    ],
    ids=["idle", "died", "several"],
)
def test_what_has_no_place_in_the_ranking_is_named_beside_its_first(
    groups: tuple[str, ...], change: Change, words: str
) -> None:
    answer = answer_of(summarise(made_run(World(change=change), experiment=few(*groups))))
    assert answer.sentences[0].startswith("X25519 is the fastest key-exchange group: 3,8")
    assert answer.sentences[1] == f"Not ranked: {words}."


def test_one_that_alone_can_be_ranked_is_not_the_fastest() -> None:
    world = World(change=idle({"P-256", "P-384"}))
    answer = answer_of(summarise(made_run(world, experiment=few(*THREE))))
    assert answer.sentences == ()
    assert answer.lacking is not None
    assert answer.lacking.why == (
        "Only X25519 of 3 key-exchange groups can be ranked: the table says why."
    )


def test_of_one_group_alone_the_value_is_the_answer() -> None:
    (sentence,) = answer_of(summarise(made_run(experiment=few("X25519")))).sentences
    assert sentence.startswith("X25519: 3,8")
    assert "fastest" not in sentence


def test_what_the_server_does_not_support_is_not_missing() -> None:
    world = World(unsupported=frozenset({"P-384"}))
    answer = answer_of(summarise(made_run(world, experiment=few(*THREE))))
    assert not any("ranked" in sentence for sentence in answer.sentences)


def test_lower_bounds_and_what_has_no_place_are_named_in_one_sentence() -> None:
    def change(trial: Trial) -> Trial:
        return died(saturated({"P-256"})(trial))

    answer = answer_of(summarise(made_run(World(change=change), experiment=few(*THREE, "X448"))))
    assert len(answer.sentences) == 2
    assert re.fullmatch(
        r"How fast P-256 \(≥ 3,\d{3}\) can be is not known: the generator was the limit; not "
        r"ranked: P-384 \(no valid result\)\.",
        answer.sentences[1],
    )


def test_the_least_cost_is_called_so_only_where_that_is_established() -> None:
    for costs, words in (
        (SERVER_US, "X25519 costs the server least, "),
        (EQUAL, " is measured to cost the server least, "),
    ):
        world = World(server_us=costs, change=saturated(SERVER_US))
        found = summarise(made_run(world, experiment=few())).findings
        (text,) = [each.text for each in found if each.code == "cheapest_for_server"]
        assert words in text
