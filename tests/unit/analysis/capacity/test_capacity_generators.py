"""A capacity report of several generators: their clocks, their losses, and their limit."""

from dataclasses import replace

from factories.capacity import CapacityWorld, made_capacity_run, made_plan
from factories.capacity_summary import stated
from tlslab.analysis.capacity import summarise
from tlslab.domain.capacity import GeneratorRules, Objective
from tlslab.domain.finding import Summary


def generators_summary(world: CapacityWorld, rules: GeneratorRules) -> Summary:
    plan = replace(made_plan(remedies=True, objective=Objective("p99", 5.0)), generators=rules)
    return summarise(made_capacity_run({"nginx": world}, plan))


def test_a_report_names_the_generators_and_their_clocks() -> None:
    summary = generators_summary(CapacityWorld(), GeneratorRules(2, 2))
    first, second = summary.hosts
    assert (first.name, first.processors, first.lost) == ("node-0", (1,), 0)
    assert (second.clock_error_s, second.start_skew_s) == (2e-5, 1e-4)
    assert (second.drift_ppm, second.handshakes_per_s) == (3.0, 2000.0)
    assert second.runs == first.runs > 20
    (values,) = stated(summary, "generators")
    assert (values["generators"], values["side"]) == (2, "server")
    assert summarise(made_capacity_run()).hosts == ()
    assert not stated(summarise(made_capacity_run()), "generators")


def test_a_report_says_whether_the_generators_were_the_limit() -> None:
    summary = generators_summary(CapacityWorld(client_us=4000.0), GeneratorRules(1, 4))
    (values,) = stated(summary, "generators")
    assert (values["generators"], values["side"]) == (4, "generator")
    assert summary.cells[0].verdict == "at_least"


def test_a_maximum_that_lost_a_generator_does_not_count() -> None:
    world = CapacityWorld(loses=lambda step: step.stage == "maximum" and step.repetition == 0)
    summary = generators_summary(world, GeneratorRules(2, 2))
    assert (summary.hosts[1].lost, summary.hosts[1].reason) == (1, "it died")
    (cell,) = summary.cells
    assert "host_lost" in {note.code for note in cell.reasons}
    assert cell.verdict == "valid"
