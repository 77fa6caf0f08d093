"""The metrics as Prometheus reads them."""

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from factories.live import Watched, pace, totals
from tlslab.domain import events
from tlslab.report.live.metrics import RunCollector
from tlslab.report.live.state import State

LABELS = {"experiment": "groups", "host": "bed", "cell": "X25519", "run": "capacity"}


def scraped(state: State) -> dict[str, list[Sample]]:
    registry = CollectorRegistry()
    registry.register(RunCollector(state))
    text = generate_latest(registry).decode()  # type: ignore[no-untyped-call]
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {family.name: list(family.samples) for family in families}


def watched() -> Watched:
    found = Watched()
    found.start()
    found.seconds([pace(1.0, totals(100, 2, 5)), pace(2.0, totals(200, 3, 5))])
    return found


def test_counters_have_the_accounting_with_its_labels() -> None:
    found = scraped(watched().state)
    values = {
        name: [(sample.labels, sample.value) for sample in found[f"tlslab_{name}"]]
        for name in ("arrivals", "completed", "unexpected", "requests", "due")
    }
    assert values["arrivals"] == [(LABELS, 208.0)]
    assert values["completed"] == [(LABELS, 200.0)]
    assert values["unexpected"] == [(LABELS, 0.0)]
    assert values["due"] == [(LABELS, 208.0)]
    (failed,) = found["tlslab_failed"]
    assert (failed.labels, failed.value) == ({**LABELS, "class": "reset"}, 3.0)
    (cpu,) = found["tlslab_generator_cpu_seconds"]
    assert (cpu.name, cpu.value) == ("tlslab_generator_cpu_seconds_total", 0.08)


def test_histograms_are_cumulative_and_whole() -> None:
    found = scraped(watched().state)
    for name in ("handshake", "service", "response", "request"):
        samples = found[f"tlslab_{name}_seconds"]
        buckets = [(s.labels["le"], s.value) for s in samples if s.name.endswith("_bucket")]
        assert [bound for bound, _ in buckets] == ["0.001", "0.01", "0.1", "1.0", "+Inf"]
        assert [value for _, value in buckets] == [0.0, 200.0, 200.0, 200.0, 200.0]
        (count,) = [s.value for s in samples if s.name.endswith("_count")]
        assert count == 200.0
    (total,) = [s for s in found["tlslab_service_seconds"] if s.name.endswith("_sum")]
    assert abs(total.value - 0.8) < 1e-9


def test_gauges_are_there_only_while_something_runs() -> None:
    running = watched()
    found = scraped(running.state)
    (in_flight,) = found["tlslab_in_flight"]
    assert (in_flight.labels, in_flight.value) == ({"experiment": "groups", "host": "bed"}, 5.0)
    assert [sample.value for sample in found["tlslab_offered_rate"]] == [105.0]
    assert [sample.value for sample in found["tlslab_server_processors"]] == [0.83]
    running.state.finish("done")
    found = scraped(running.state)
    gone = ("in_flight", "waiting", "offered_rate", "completed_rate", "server_processors")
    assert [found[f"tlslab_{name}"] for name in gone] == [[]] * len(gone)
    assert [sample.value for sample in found["tlslab_completed"]] == [200.0]


def test_a_closed_loop_has_no_samples_of_an_open_one() -> None:
    closed = Watched()
    closed.seconds([pace(1.0, totals(10, open_loop=False))])
    found = scraped(closed.state)
    assert found["tlslab_due"] == found["tlslab_response_seconds"] == []
    assert found["tlslab_offered_rate"] == []
    assert "tlslab_trials_done" not in found


def test_a_hostile_cell_is_escaped() -> None:
    hostile = Watched()
    cell = 'a"} 1\ntlslab_completed_total{x="\\'
    hostile.state.take(events.Rate(cell, "capacity", pace(1.0, totals(10))))
    (sample,) = scraped(hostile.state)["tlslab_completed"]
    assert (sample.labels["cell"], sample.value) == (cell, 10.0)


def test_the_work_and_what_runs_have_metrics() -> None:
    found = scraped(watched().state)
    (info,) = found["tlslab_run"]
    assert info.labels["target"] == "nginx"
    assert [sample.value for sample in found["tlslab_trials_done"]] == [0.0]
    assert found["tlslab_trials_planned"][0].value > 1


def test_a_lost_host_is_marked_until_it_makes_load_again() -> None:
    found = Watched()
    for host in ("a", "b"):
        found.state.take(events.Rate("c", "load", pace(1.0, totals(100), 100.0, host)))
    found.state.take(events.GeneratorLost("b", "it died"))

    def marks() -> dict[str, float]:
        return {s.labels["host"]: s.value for s in scraped(found.state)["tlslab_host_lost"]}

    assert marks() == {"a": 0.0, "b": 1.0}
    rates = scraped(found.state)["tlslab_completed_rate"]
    assert [sample.labels["host"] for sample in rates] == ["a"]
    found.state.take(events.TrialStarted(1, "c"))
    assert marks() == {"b": 1.0}
    found.state.take(events.Rate("c", "load", pace(1.0, totals(100), 100.0, "b")))
    assert marks() == {"b": 0.0}
