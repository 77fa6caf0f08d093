"""The answer of a run of the kind `matrix`, and the cases without an answer."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from factories.run import SERVER_US, TEN_BLOCKS, TrialChange, World, made_run
from factories.saturated import idle, saturated
from factories.worded import summarise
from tlslab.domain.experiment import Experiment, Factor
from tlslab.domain.figure import Figure
from tlslab.domain.finding import Answer, Summary
from tlslab.domain.trial import Reason, Trial
from tlslab.domain.wording import difference
from tlslab.experiment import with_levels

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
    assert re.fullmatch(
        r"In the 3 other settings X25519 leads(, too|, or cannot be told apart from the first "
        r"\(they may differ by up to [\d.]+ %\))\.",
        answer.sentences[1],
    )
    assert answer.confidence.startswith("10 blocks in random order, intervals of 95 %; 21 pairs")
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
    assert answer.lacking.minutes == pytest.approx(1.8)


def test_equal_cells_are_near_each_other_and_none_is_crowned() -> None:
    summary = summarise(
        made_run(World(server_us=EQUAL, client_us=LIGHT, noise=0.01), experiment=few())
    )
    (sentence,) = answer_of(summary).sentences
    assert sentence.startswith("All 7 key-exchange groups are within ")


def test_noise_that_hides_everything_says_so_and_what_would_be_enough() -> None:
    world = World(server_us=EQUAL, client_us=LIGHT, noise=0.25, seed=5)
    answer = answer_of(summarise(made_run(world, experiment=few())))
    assert answer.sentences == ()
    assert answer.lacking is not None
    assert answer.lacking.why.startswith("No two of the 7 key-exchange groups can be told apart")
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
    # P-521 keeps its place by value, although no cell is known to be better.
    assert series.x[-1] == "P-521"
    ranking = next(r for r in summary.rankings if r.estimate == "connections_per_s")
    assert (ranking.places[-1].best, ranking.places[-1].worst) == (1, 7)


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
    """The trial without a result if it is one of P-384."""
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
def test_unranked_cells_are_named_beside_the_first_of_the_ranking(
    groups: tuple[str, ...], change: TrialChange, words: str
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


def test_an_unsupported_group_is_not_named_as_unranked() -> None:
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


TWO_KEYS = {"tls": ("1.3",), "key": ("ecdsa-p256", "rsa-2048"), "group": ("X25519", "P-256")}


def two_settings(
    costs: Mapping[str, float], change: TrialChange = lambda trial: trial, noise: float = 0.005
) -> Answer:
    """X25519 costs 200 µs and P-256 300 with ECDSA; with RSA they cost what `costs` say."""
    ecdsa = {"X25519": 200.0, "P-256": 300.0}

    def cost_us(levels: Mapping[str, str]) -> float:
        return (costs if levels["key"].startswith("rsa") else ecdsa)[levels["group"]]

    experiment = replace(with_levels(TEN_BLOCKS, TWO_KEYS), blocks=10)
    world = World(cost_us=cost_us, client_us=LIGHT, noise=noise, change=change)
    return answer_of(summarise(made_run(world, experiment=experiment)))


def in_rsa(change: TrialChange) -> TrialChange:
    """The change in cells with an RSA certificate only."""
    return lambda trial: change(trial) if trial.factors["key"].startswith("rsa") else trial


def test_another_setting_is_said_to_agree_where_it_does() -> None:
    answer = two_settings({"X25519": 700.0, "P-256": 800.0})
    assert answer.sentences[1] == "With TLS 1.3, RSA-2048, X25519 leads, too."


def test_a_tie_in_another_setting_has_the_difference_that_is_open() -> None:
    answer = two_settings({"X25519": 700.0, "P-256": 700.0})
    assert re.fullmatch(
        r"With TLS 1\.3, RSA-2048, X25519 leads, or cannot be told apart from the first "
        r"\(they may differ by up to [\d.]+ %\)\.",
        answer.sentences[1],
    )


def test_another_leads_where_the_first_is_beaten() -> None:
    answer = two_settings({"X25519": 800.0, "P-256": 700.0})
    assert answer.sentences[1] == "Elsewhere another leads: P-256 with TLS 1.3, RSA-2048."


@pytest.mark.parametrize("change", [saturated({"X25519"}), idle({"X25519"})])
def test_none_leads_where_the_first_has_no_known_place(change: TrialChange) -> None:
    """A lower bound than which no cell is known to be better, and a cell without a rank."""
    answer = two_settings({"X25519": 800.0, "P-256": 700.0}, in_rsa(change))
    assert answer.sentences[1:] == ()


def failed_once(*cells: tuple[str, str]) -> TrialChange:
    """The first trial of these cells (key, group) fails."""

    def change(trial: Trial) -> Trial:
        place = trial.factors["key"], trial.factors["group"]
        if trial.block or place not in cells:
            return trial
        return replace(trial, status="failed", runs={}, reason=Reason("died", "the server died"))

    return change


def five_blocks(*cells: tuple[str, str], **levels: tuple[str, ...]) -> Summary:
    experiment = replace(with_levels(TEN_BLOCKS, {**TWO_KEYS, **levels}), blocks=5)
    world = World(
        server_us={"X25519": 200.0, "P-256": 300.0},
        client_us=LIGHT,
        change=failed_once(*cells),
    )
    return summarise(made_run(world, experiment=experiment))


def test_a_cell_with_four_of_five_trials_is_in_no_sentence() -> None:
    first = ("ecdsa-p256", "P-256")
    summary = five_blocks(first)
    cell = next(c for c in summary.cells if "ecdsa-p256" in c.key and "P-256" in c.key)
    assert (cell.verdict, cell.estimates["connections_per_s"].n) == ("valid", 4)
    assert "P-256" not in answer_of(summary).sentences[0].replace("ECDSA P-256", "")
    of_cell = [f for f in summary.findings if cell.key in f.cells and f.code != "answer"]
    assert of_cell == []


def test_a_setting_led_by_four_of_five_trials_is_in_no_sentence() -> None:
    summary = five_blocks(("rsa-2048", "X25519"))
    assert answer_of(summary).sentences[1:] == ()
    assert not [f for f in summary.findings if f.text.startswith("TLS 1.3, RSA-2048: a new")]


def test_groups_that_tie_are_named_with_the_difference_that_is_open() -> None:
    costs = {"X25519": 200.0, "P-256": 200.0, "P-384": 600.0}
    experiment = few(*costs)
    summary = summarise(
        made_run(World(server_us=costs, client_us=LIGHT, seed=5), experiment=experiment)
    )
    ranking = next(r for r in summary.rankings if r.estimate == "connections_per_s")
    left = ranking.places[0].may_differ
    assert left is not None
    assert (
        "(no difference between them is established, one of up to "
        f"{difference(left)} is not excluded)"
    ) in answer_of(summary).sentences[0]


def test_the_cheapest_is_named_only_where_it_is_established() -> None:
    def codes(costs: Mapping[str, float]) -> list[str]:
        world = World(server_us=costs, change=saturated(costs), seed=5)
        summary = summarise(made_run(world, experiment=few(*costs)))
        return [finding.text for finding in summary.findings if "cheapest" in finding.code]

    assert codes({"X25519": 200.0, "P-256": 200.0}) == []
    (text,) = codes({"X25519": 200.0, "P-256": 300.0})
    assert "X25519 costs the server least" in text
    (text,) = codes({"X25519": 200.0, "P-256": 200.0, "P-384": 600.0})
    assert "cannot be told apart from" in text or "shows no difference from" in text


def test_costs_of_two_machines_have_no_ratio() -> None:
    def elsewhere(trial: Trial) -> Trial:
        runs = {
            kind: replace(run, server=replace(run.server, source="node_exporter"))
            for kind, run in trial.runs.items()
            if run.server is not None
        }
        return replace(trial, runs=runs)

    def split(change: TrialChange) -> str:
        summary = summarise(made_run(World(change=change), experiment=few("X25519", "P-384")))
        return next(f.text for f in summary.findings if f.code == "cost_split")

    assert "times as much" in split(lambda trial: trial)
    assert "times as much" not in split(elsewhere)
    assert "a client that verifies everything" in split(elsewhere)


def test_a_combination_of_two_is_called_both() -> None:
    world = World(server_us=EQUAL, client_us=LIGHT, noise=0.005)
    (sentence,) = answer_of(summarise(made_run(world, experiment=few("X25519", "P-256")))).sentences
    assert re.match(r"Both key-exchange groups are within [\d.]+ % of each other by ", sentence)


def without_tls(**factors: tuple[str, ...]) -> Summary:
    """TLS 1.3 costs the server five times as much as none, TLS 1.2 eight times."""
    costs = {"none": 40.0, "1.3": 200.0, "1.2": 320.0}
    first = next(iter(factors))
    experiment = replace(
        TEN_BLOCKS,
        factors=tuple(Factor(name, levels) for name, levels in factors.items()),
        baseline={first: factors[first][0]},
        exclusions=(),
        pins=(),
    )
    world = World(cost_us=lambda levels: costs[levels["tls"]] / int(levels.get("workers", "1")))
    return summarise(made_run(world, experiment=experiment))


def test_without_tls_is_the_baseline_and_never_the_answer() -> None:
    summary = without_tls(tls=("none", "1.2", "1.3"))
    plain = next(cell.key for cell in summary.cells if cell.without_tls)
    assert not any(plain in ranking.cells for ranking in summary.rankings)
    answer = answer_of(summary)
    assert answer.lacking is None
    assert [each.code for each in answer.statements] == ["leads", "without_tls"]
    assert answer.sentences[0].startswith("TLS 1.3 is the fastest ")
    assert re.search(
        r"Without TLS is the baseline, and not ranked: the server's time for a new connection "
        r"with TLS 1\.3 is (4\.9|5)\S* times",
        " ".join(answer.sentences),
    )
    assert not any("no TLS" in finding.text for finding in summary.findings)


def test_one_version_beside_none_is_an_answer() -> None:
    answer = answer_of(without_tls(tls=("none", "1.3")))
    assert answer.lacking is None
    assert [each.code for each in answer.statements] == ["alone", "without_tls"]


def test_a_setting_without_tls_has_no_ranking() -> None:
    summary = without_tls(workers=("1", "2"), tls=("none", "1.3"))
    assert {ranking.setting["tls"] for ranking in summary.rankings} == {"1.3"}
    codes = [each.code for each in answer_of(summary).statements]
    assert codes == ["leads", "without_tls"]
