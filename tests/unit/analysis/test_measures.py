"""The values of single trials."""

from dataclasses import replace

from factories.run import World, made_run
from tlslab.analysis.measures import trial_values
from tlslab.model.trial import RunKind, Trial, TrialRun


def _with_responses(trial: Trial, *lengths: int) -> Trial:
    """A trial whose connections saw OCSP responses of these lengths, equally often."""
    runs: dict[RunKind, TrialRun] = {}
    for kind, run in trial.runs.items():
        (facts,) = run.record.facts
        seen = tuple(replace(facts, ocsp_response_bytes=length) for length in lengths)
        runs[kind] = replace(run, record=replace(run.record, facts=seen))
    return replace(trial, runs=runs)


def test_the_length_of_a_stapled_response_is_the_mean_over_full_handshakes() -> None:
    trial = made_run(World(), quick=True).trials[0]
    assert "ocsp_response_bytes" not in trial_values(trial, 1)
    assert trial_values(_with_responses(trial, 282), 1)["ocsp_response_bytes"] == 282
    assert trial_values(_with_responses(trial, 282, 284), 1)["ocsp_response_bytes"] == 283
    # A resumed handshake has no response, and is not part of the mean.
    mixed = _with_responses(trial, 282, 0)
    run = mixed.runs["capacity"]
    full, resumed = run.record.facts
    facts = (full, replace(resumed, kind="resumed"))
    record = replace(run.record, facts=facts)
    mixed = replace(mixed, runs={"capacity": replace(run, record=record)})
    assert trial_values(mixed, 1)["ocsp_response_bytes"] == 282
