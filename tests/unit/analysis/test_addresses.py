"""The addresses that the runs of a target went to."""

from dataclasses import replace

import pytest

from factories.run import World, made_run
from factories.worded import summarise
from tlslab.domain.run import RunContents
from tlslab.words.cautions import warnings


def to(contents: RunContents, url: str, *addresses: str) -> RunContents:
    """The run whose trials requested this URL, and went to the addresses in turn."""
    trials = []
    for number, trial in enumerate(contents.trials):
        address = addresses[number % len(addresses)]
        runs = {
            kind: replace(
                run,
                record=replace(run.record, spec={**run.record.spec, "url": url}, address=address),
            )
            for kind, run in trial.runs.items()
        }
        trials.append(replace(trial, runs=runs))
    return replace(contents, trials=tuple(trials))


@pytest.fixture(name="contents", scope="module")
def _contents() -> RunContents:
    return made_run(World())


def test_runs_that_went_to_several_addresses_of_a_name_are_a_warning(contents: RunContents) -> None:
    url = "https://localhost:8443/document"
    summary = summarise(to(contents, url, "127.0.0.1:8443", "127.0.0.1:8443", "[::1]:8443"))
    (found,) = [each for each in summary.findings if each.code == "several_addresses"]
    assert found.text.startswith(
        "The runs went to several addresses of localhost:8443: 127.0.0.1 ("
    )
    assert " runs), ::1 (" in found.text
    assert found.text in [each.message for each in warnings(summary)]


@pytest.mark.parametrize("address", ["127.0.0.1:8443", "[::1]:8443"])
def test_runs_that_went_to_one_address_have_no_such_warning(
    contents: RunContents, address: str
) -> None:
    summary = summarise(to(contents, "https://localhost:8443/", address))
    assert "several_addresses" not in {each.code for each in summary.findings}
