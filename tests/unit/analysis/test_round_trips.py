"""Round trips to the first byte, and the computed time at a distance."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from factories.run import World, made_run
from factories.worded import summarise
from tlslab.analysis.measures import Processors, trial_values
from tlslab.analysis.round_trips import (
    INITIAL_WINDOW_BYTES,
    FirstByte,
    first_byte,
    first_bytes,
    window_round_trips,
)
from tlslab.contract.record import Bytes, Kinds, RoundTrips, RunRecord, TimeSummary
from tlslab.domain.finding import Summary
from tlslab.domain.trial import Trial
from tlslab.experiment import load, with_levels

ONE = Processors((0,), (1,))

BY_VERSION = {"1.2": "4", "1.3": "3"}


def _record(ms: Mapping[str, float], **changes: object) -> RunRecord:
    """A record with ten connections in full and these mean times."""
    record = made_run(quick=True).trials[0].runs["capacity"].record
    whole = record.summaries["service"]
    times: dict[str, TimeSummary] = {
        name: replace(whole, n=10, mean_ms=mean) for name, mean in ms.items()
    }
    outcomes = replace(record.outcomes, completed=10)
    usual = {
        "round_trips": RoundTrips(full={"3": 10}, resumed={}),
        "outcomes": outcomes,
        "bytes": Bytes(0, 10 * 1_200, 0, 0, 0, 0),
    }
    return replace(record, summaries=times, **{**usual, **changes})  # type: ignore[arg-type]


PARTS = {"connect": 0.5, "handshake_full": 2.0, "handshake_resumed": 1.0, "first_byte": 0.25}


def test_the_time_at_a_distance_is_that_of_the_round_trips_and_that_on_loopback() -> None:
    found = first_byte([_record(PARTS)], "full")
    assert found == FirstByte("full", 3.0, 0, 2.75)
    assert [found.ms_at(time) for time in (0, 1, 50)] == [2.75, 5.75, 152.75]
    assert first_byte([_record(PARTS)], "resumed") is None


def test_a_flight_beyond_the_first_window_waits_for_acknowledgements() -> None:
    first = INITIAL_WINDOW_BYTES
    assert first == 14_600
    ends = [first, first + 1, 3 * first, 3 * first + 1, 7 * first, 7 * first + 1]
    assert [window_round_trips(end) for end in ends] == [0, 1, 1, 2, 2, 3]
    assert window_round_trips(0) == 0
    long = Bytes(5_000, 10 * (first + 1), 0, 0, 0, 0)
    found = first_byte([_record(PARTS, bytes=long)], "full")
    assert found is not None
    assert (found.round_trips, found.of_window, found.ms_at(50)) == (3, 1, 202.75)


def test_where_most_connections_resume_the_chain_shows_how_long_a_flight_is() -> None:
    record = _record(PARTS, bytes=Bytes(0, 10 * 500, 0, 0, 0, 0))
    certificate = record.preflight.certificate
    assert certificate is not None
    preflight = replace(record.preflight, certificate=replace(certificate, chain_bytes=20_000))
    trips = RoundTrips(full={"3": 1}, resumed={"3": 8, "4": 1})
    record = replace(record, preflight=preflight, round_trips=trips)
    full, resumed = (first_byte([record], kind) for kind in ("full", "resumed"))
    assert full == FirstByte("full", 3.0, 1, 2.75)
    assert resumed == FirstByte("resumed", 28 / 9, 0, 1.75)


def test_a_request_that_is_early_data_begins_with_the_handshake() -> None:
    early = RoundTrips(full={}, resumed={"2": 10})
    record = _record(PARTS, round_trips=early, kinds=Kinds(resumed=10, early_data_accepted=10))
    assert first_byte([record], "resumed") == FirstByte("resumed", 2.0, 0, 0.75)
    some = replace(record, kinds=Kinds(resumed=10, early_data_accepted=5))
    assert first_byte([some], "resumed") is None


def test_trials_count_by_their_connections_and_records_of_earlier_engines_not_at_all() -> None:
    old = made_run(quick=True).trials[0]
    assert first_bytes([old]) == []
    assert "round_trips" not in trial_values(old, ONE, None)
    one, other = (
        replace(old, runs={"capacity": replace(old.runs["capacity"], record=record)})
        for record in (
            _record(PARTS),
            _record(
                PARTS | {"connect": 4.5}, round_trips=RoundTrips(full={"4": 30}, resumed={"3": 5})
            ),
        )
    )
    full, resumed = first_bytes([one, other, old])
    assert (full.kind, full.round_trips, full.of_window) == ("full", 3.75, 0)
    assert full.loopback_ms == pytest.approx(5.75)
    assert resumed == FirstByte("resumed", 3.0, 0, 5.75)
    values = trial_values(other, ONE, None)
    assert (values["round_trips"], values["round_trips_resumed"]) == (4, 3)


def _counted(trial: Trial) -> Trial:
    """The trial with the round trips of its version, and times by kind of handshake."""
    runs = dict(trial.runs)
    run = runs["capacity"]
    completed = run.record.outcomes.completed
    trips = RoundTrips(full={BY_VERSION[trial.factors["tls"]]: completed}, resumed={})
    times = {**run.record.summaries, "handshake_full": run.record.summaries["handshake"]}
    runs["capacity"] = replace(run, record=replace(run.record, round_trips=trips, summaries=times))
    return replace(trial, runs=runs)


def _summary(versions: tuple[str, ...]) -> Summary:
    levels = {"tls": versions, "key": ("ecdsa-p256",), "group": ("X25519", "P-256")}
    experiment = replace(with_levels(load("groups"), levels), blocks=5, stopping=None)
    return summarise(made_run(World(change=_counted), experiment=experiment))


def test_a_run_over_versions_has_a_table_that_says_what_a_distance_costs() -> None:
    summary = _summary(("1.2", "1.3"))
    (table,) = (table for table in summary.tables if table.id == "round_trips")
    rows = {str(row[0]): row[1:] for row in table.rows}
    assert len(rows) == 4
    for name in rows:
        trips = 4 if name.startswith("TLS 1.2") else 3
        kind, counted, more, loopback_ms, *computed = rows[name]
        assert (kind, counted, more) == ("full", trips, 0)
        times = [trips * time + float(str(loopback_ms)) for time in (1, 20, 50, 150)]
        assert computed == pytest.approx(times)
    assert table.caption.startswith(
        "TLS 1.3, X25519, full: 3 round trips, TLS 1.2, X25519, full has 4: a client at 50 ms "
        "waits 50 ms less (computed). Computed, not measured: "
    )
    estimate = next(cell for cell in summary.cells if "1.2" in cell.key).estimates["round_trips"]
    assert estimate.value == pytest.approx(4)
    assert estimate.unit == "1"


def test_a_run_over_cells_with_the_same_round_trips_has_no_such_table() -> None:
    assert all(table.id != "round_trips" for table in _summary(("1.3",)).tables)
