"""The rule of a proof: the findings that its ratios establish, and the resulting verdict."""

from dataclasses import replace

import numpy as np
import pytest

from factories.proof import cell, made_sides
from kept import proof_verdict
from tlslab.analysis.compare import Measured
from tlslab.analysis.proof.deciding_ratios import direction_of, figures, verdict_of
from tlslab.analysis.proof.sides import Sides, mixed, sides_of
from tlslab.domain.proof import ProofFigure, ProofVerdict
from tlslab.domain.proof_settings import Measure
from tlslab.domain.stopping import LEAST_BLOCKS
from tlslab.experiment.proof import BLOCKS
from tlslab.lab.store import to_json

MARGIN = 0.05


def verdict(**more: object) -> ProofVerdict:
    return verdict_of(figures(made_sides(**more), MARGIN))  # type: ignore[arg-type]


def of(found: tuple[ProofFigure, ...], measure: str) -> ProofFigure:
    return next(each for each in found if each.measure == measure)


def test_a_cheaper_handshake_is_a_gain() -> None:
    assert verdict(new=(5000.0, 500.0)) == "deploy"


def test_a_dearer_one_is_a_loss() -> None:
    assert verdict(new=(500.0, 700.0)) == "do_not"


def test_equal_ones_are_no_difference() -> None:
    assert verdict() == "no_difference"


def test_noise_leaves_it_open() -> None:
    assert verdict(noise=0.2) == "cannot_tell"


def test_a_loss_of_requests_outweighs_a_gain_of_connections() -> None:
    assert verdict(new=(5000.0, 500.0), requests=(40.0, 60.0)) == "do_not"


def test_dearer_returning_clients_are_weighed_in_the_mix() -> None:
    """TLS 1.3 resumes with a key exchange, TLS 1.2 without: that is a part, not the whole."""
    assert verdict(new=(8000.0, 600.0), returning=(250.0, 480.0)) == "deploy"
    found = figures(made_sides(new=(8000.0, 600.0), returning=(250.0, 480.0)), MARGIN)
    assert of(found, "returning").direction == "loss"
    assert not of(found, "returning").decides
    assert verdict(new=(8000.0, 600.0), returning=(250.0, 480.0), share=0.999) == "do_not"


def test_the_mix_adds_times_up() -> None:
    rng = np.random.default_rng(1)
    new = cell("baseline", "new", rng, 1000.0, noise=0.0)
    old = cell("baseline", "returning", rng, 200.0, noise=0.0)
    both = mixed(new, old, 0.25)
    assert both.values["server_cpu_us_per_connection"][0] == pytest.approx(800.0)
    assert both.values["connections_per_s"][0] == pytest.approx(1250.0)


def test_a_configuration_without_resumption_meets_returning_clients_as_new_ones() -> None:
    rng = np.random.default_rng(1)
    cells = [
        cell("baseline", "new", rng, 500.0),
        cell("baseline", "returning", rng, 200.0),
        cell("candidate", "new", rng, 500.0),
    ]
    found = figures(sides_of(cells, 0.5), MARGIN)
    assert of(found, "returning").direction == "loss"
    assert of(found, "returning").better == pytest.approx(0.4, rel=0.05)
    assert verdict_of(found) == "do_not"


def test_without_any_resumption_there_are_new_clients_only() -> None:
    rng = np.random.default_rng(1)
    cells = [cell(name, "new", rng, 500.0) for name in ("baseline", "candidate")]
    found = figures(sides_of(cells, 0.5), MARGIN)
    assert {each.measure for each in found} == {"connections", "new", "requests", "handshake"}
    assert verdict_of(found) == "no_difference"


def test_a_lower_bound_is_decided_by_the_cost() -> None:
    rng = np.random.default_rng(1)
    bound = ("connections_per_s",)
    cells = [
        cell("baseline", "new", rng, 5000.0),
        cell("candidate", "new", rng, 500.0, verdict="at_least", lower_bounds=bound),
    ]
    found = figures(sides_of(cells, 0.5), MARGIN)
    deciding = [each for each in found if each.decides and each.measure == "connections"]
    assert [each.estimate for each in deciding] == ["server_cpu_us_per_connection"]
    assert deciding[0].direction == "gain"
    rate = of(found, "connections")
    assert rate.why_open == "lower bound of the candidate: the generator was the limit"


def test_without_costs_a_lower_bound_of_the_candidate_can_show_a_gain_and_no_more() -> None:
    for cost, expected in ((500.0, "gain"), (5000.0, "open"), (9000.0, "open")):
        rng = np.random.default_rng(1)
        bound = ("connections_per_s",)
        cells = [
            cell("baseline", "new", rng, 5000.0),
            cell("candidate", "new", rng, cost, verdict="at_least", lower_bounds=bound),
        ]
        bare = [
            replace(c, values={n: v for n, v in c.values.items() if "server_cpu" not in n})
            for c in cells
        ]
        rate = of(figures(sides_of(bare, 0.5), MARGIN), "connections")
        assert rate.decides
        assert rate.direction == expected


def test_an_invalid_side_establishes_nothing() -> None:
    rng = np.random.default_rng(1)
    cells = [
        cell("baseline", "new", rng, 5000.0, verdict="invalid"),
        cell("candidate", "new", rng, 500.0),
    ]
    assert verdict_of(figures(sides_of(cells, 0.5), MARGIN)) == "cannot_tell"


def test_times_of_two_clients_are_not_compared() -> None:
    sides = made_sides(new=(500.0, 500.0))
    assert of(figures(sides, MARGIN, one_client=False), "handshake").why_open


@pytest.mark.parametrize("blocks", [1, 4])
def test_fewer_than_five_blocks_say_nothing(blocks: int) -> None:
    for new in ((5000.0, 500.0), (500.0, 5000.0)):
        found = figures(made_sides(new=new, blocks=blocks), MARGIN)
        assert verdict_of(found) == "cannot_tell"
        assert {each.direction for each in found} == {"open"}


def test_a_gain_is_not_deployed_while_a_loss_of_the_other_measure_is_possible() -> None:
    sides = made_sides(new=(5000.0, 500.0))
    noisy = made_sides(new=(5000.0, 500.0), requests=(40.0, 52.0), noise=0.4)
    found = figures({**sides, "requests": noisy["requests"]}, MARGIN)
    assert of(found, "connections").direction == "gain"
    assert of(found, "requests").direction == "open"
    assert not of(found, "requests").no_loss
    assert verdict_of(found) == "cannot_tell"


def test_a_gain_is_deployed_beside_an_open_measure_that_has_lost_nothing() -> None:
    """About 5 % better: no established gain, not within the margin, and no loss."""
    sides = made_sides(new=(5000.0, 500.0), requests=(40.0, 38.0), noise=0.03, seed=3)
    found = figures(sides, MARGIN)
    assert of(found, "requests").direction == "open"
    assert of(found, "requests").no_loss
    assert verdict_of(found) == "deploy"


def test_a_measure_without_figures_leaves_it_open() -> None:
    for new in ((5000.0, 500.0), (500.0, 500.0)):
        sides = made_sides(new=new)
        del sides["requests"]
        found = figures(sides, MARGIN)
        assert verdict_of(found) == "cannot_tell"
        assert verdict_of(found, ("connections",)) in ("deploy", "no_difference")


def test_a_lower_bound_of_the_baseline_excludes_no_loss() -> None:
    rng = np.random.default_rng(1)
    bound = ("connections_per_s",)
    cells = [
        cell("baseline", "new", rng, 520.0, verdict="at_least", lower_bounds=bound),
        cell("candidate", "new", rng, 500.0),
    ]
    bare = [
        replace(c, values={n: v for n, v in c.values.items() if "server_cpu" not in n})
        for c in cells
    ]
    rate = of(figures(sides_of(bare, 0.5), MARGIN), "connections")
    assert rate.decides
    assert (rate.direction, rate.no_loss) == ("open", False)


def test_the_p99_is_shown_and_decides_nothing() -> None:
    """If new clients cost more, their p99 is longer: the mix contains that effect already."""
    found = figures(made_sides(new=(500.0, 600.0), returning=(900.0, 300.0), share=0.7), MARGIN)
    assert of(found, "handshake").direction == "loss"
    assert not of(found, "handshake").decides
    assert of(found, "connections").direction == "gain"
    assert verdict_of(found) == "deploy"


def test_a_small_difference_within_the_margin_is_none_even_if_it_is_established() -> None:
    found = of(figures(made_sides(new=(500.0, 490.0), noise=0.001), MARGIN), "new")
    assert found.low is not None
    assert found.low > 1
    assert direction_of(found, MARGIN) == "equal"


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_equal_configurations_hardly_ever_get_a_verdict(noise: float) -> None:
    """A false gain or loss among all ratios: in at most 5 % of 200 seeded runs."""
    false = sum(verdict(seed=seed, noise=noise) in ("deploy", "do_not") for seed in range(200))
    # 5 % of 200, plus twice the standard deviation of that count.
    assert false <= 16


# The costs of servers that are slower by the margin in every measure.
SLOWER = {"new": (500.0, 525.0), "returning": (200.0, 210.0), "requests": (40.0, 42.0)}


def first(sides: dict[Measure, Sides], blocks: int) -> dict[Measure, Sides]:
    """The same after the first blocks of a run."""

    def cut(side: Measured) -> Measured:
        values = {
            name: {block: value for block, value in by.items() if block < blocks}
            for name, by in side.values.items()
        }
        return replace(side, values=values)

    return {name: Sides(*map(cut, each.both)) for name, each in sides.items()}


def ended(seed: int, **more: object) -> tuple[ProofVerdict, int]:
    """The verdict of a run that ends once the verdict is known, and the number of its blocks."""
    sides = made_sides(seed=seed, blocks=BLOCKS, anytime=True, **more)  # type: ignore[arg-type]
    for blocks in range(LEAST_BLOCKS, BLOCKS + 1):
        found = verdict_of(figures(first(sides, blocks), MARGIN))
        if found != "cannot_tell":
            return found, blocks
    return "cannot_tell", BLOCKS


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [0.01, 0.02])
def test_equal_configurations_end_as_no_difference_though_rates_are_noisy(noise: float) -> None:
    found = [ended(seed, noise=noise, rate_noise=0.15) for seed in range(20)]
    equal = [blocks for verdict, blocks in found if verdict == "no_difference"]
    assert len(equal) >= 18
    assert max(equal) < BLOCKS


def test_equal_configurations_with_exact_blocks_are_no_difference() -> None:
    found = [verdict(seed=seed, noise=0.015, rate_noise=0.15, blocks=7) for seed in range(60)]
    assert found.count("no_difference") >= 54


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [0.01, 0.02, 0.04])
def test_a_planted_slowdown_of_the_margin_never_ends_as_no_difference(noise: float) -> None:
    found = [ended(seed, noise=noise, rate_noise=0.15, **SLOWER) for seed in range(15)]
    assert "no_difference" not in [verdict for verdict, _ in found]


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [0.01, 0.02, 0.04])
def test_nor_does_it_with_exact_blocks(noise: float) -> None:
    found = [verdict(seed=seed, noise=noise, blocks=7, **SLOWER) for seed in range(100)]
    assert "no_difference" not in found


def test_the_processor_time_decides_where_the_rate_establishes_nothing() -> None:
    found = figures(made_sides(rate_noise=0.2), MARGIN)
    deciding = {each.estimate for each in found if each.decides}
    assert deciding == {
        "server_cpu_us_per_connection",
        "keep_alive_server_cpu_us_per_request",
    }
    assert {each.direction for each in found if each.decides} == {"equal"}


def test_a_rate_that_establishes_a_gain_decides_in_its_place() -> None:
    found = figures(made_sides(new=(5000.0, 500.0)), MARGIN)
    by = {(each.measure, each.estimate): each.decides for each in found}
    assert by["connections", "connections_per_s"]
    assert not by["connections", "server_cpu_us_per_connection"]
    assert by["requests", "keep_alive_server_cpu_us_per_request"]


def with_rates_of(sides: dict[Measure, Sides], slow: dict[Measure, Sides]) -> dict[Measure, Sides]:
    """A server that waits: the costs of `sides`, the rates of the connections of `slow`."""
    mixture = [
        replace(
            side,
            values={**side.values, "connections_per_s": other.values["connections_per_s"]},
        )
        for side, other in zip(sides["connections"].both, slow["connections"].both, strict=True)
    ]
    return {**sides, "connections": Sides(*mixture)}


def test_a_rate_that_is_lower_by_its_own_interval_keeps_equal_costs_open() -> None:
    """Too little for a loss within the family, too much for "no difference"."""
    seen = 0
    for seed in range(30):
        sides = made_sides(seed=seed, noise=0.005)
        slow = made_sides(seed=seed, new=(500.0, 560.0), returning=(200.0, 224.0), rate_noise=0.06)
        found = figures(with_rates_of(sides, slow), MARGIN)
        rate, cost = (each for each in found if each.measure == "connections")
        assert rate.own_high is not None
        if rate.direction == "open" and rate.own_high < 1 / (1 + MARGIN):
            seen += 1
            assert cost.direction == "equal"
            assert verdict_of(found) == "cannot_tell"
    assert seen >= 3


def test_a_rate_that_falls_while_the_processor_time_does_counts_as_a_loss() -> None:
    """The server's processor has less work, and clients get a lower rate."""
    sides = made_sides(new=(500.0, 400.0), returning=(200.0, 160.0))
    slow = made_sides(new=(500.0, 800.0), returning=(200.0, 320.0))
    found = figures(with_rates_of(sides, slow), MARGIN)
    deciding = {each.estimate: each.direction for each in found if each.decides}
    assert deciding["connections_per_s"] == "loss"
    assert deciding["server_cpu_us_per_connection"] == "gain"
    assert verdict_of(found) == "do_not"


NARROW, WIDE = (0.98, 1.02), (0.85, 1.17)


@pytest.mark.parametrize(
    ("own", "together", "expected"),
    [
        ((0.99, 1.01), NARROW, "no_difference"),
        ((0.953, 1.049), WIDE, "no_difference"),
        ((0.90, 1.11), WIDE, "cannot_tell"),
        ((0.98, 1.06), WIDE, "cannot_tell"),
        ((0.94, 1.01), WIDE, "cannot_tell"),
        ((1.10, 1.20), (1.05, 1.25), "deploy"),
        ((0.80, 0.90), (0.78, 0.93), "do_not"),
    ],
)
def test_the_verdict_follows_from_the_intervals(
    own: tuple[float, float], together: tuple[float, float], expected: ProofVerdict
) -> None:
    """Both measures have the same value; so has the verdict from the summary's figures."""
    deciding = [each for each in figures(made_sides(), MARGIN) if each.decides]
    assert {each.measure for each in deciding} == {"connections", "requests"}
    (own_low, own_high), (low, high) = own, together
    found = []
    for each in deciding:
        judged = replace(each, own_low=own_low, own_high=own_high, low=low, high=high)
        no_loss = own_low > 1 / (1 + MARGIN)
        found.append(replace(judged, direction=direction_of(judged, MARGIN), no_loss=no_loss))
    assert verdict_of(found) == expected
    written = {"figures": to_json(found), "settings": {"margin": MARGIN}, "reasons": []}
    assert proof_verdict.verdict(written) == expected
