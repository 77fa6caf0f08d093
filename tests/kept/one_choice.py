"""Report and `tlslab recommend` of one run name the same choice."""

from tlslab.advice.policy import policies
from tlslab.domain.finding import Summary
from tlslab.domain.names import find_suite
from tlslab.lab.results import recommend
from tlslab.lab.store import RunFolder


def assert_one_choice(folder: RunFolder, summary: Summary) -> None:
    """Each server of the report has the order of `recommend`, and the answer its first name.

    `summary`: that of the folder. Nothing is compared in a report without a recommendation.
    """
    if summary.recommendation is None:
        return
    for server in summary.recommendation["servers"]:
        chosen = recommend(folder, "throughput", policies(), server["server"])
        assert chosen is not None
        assert server["order"] == list(chosen.names)
        for finding in summary.findings:
            if finding.code == "recommendation" and finding.cells == (chosen.chosen.cell,):
                break
        else:
            raise AssertionError(f"no finding recommends {chosen.chosen.cell}")
    assert summary.answer is not None
    first = summary.recommendation["servers"][0]["order"][0]
    suite = find_suite(first)
    name = first if suite is None else suite.openssl
    # The answer begins or ends with the choice, after what a study says by its own measure.
    said = summary.answer.sentences[int(summary.answer.opening is not None) :]
    assert not said or name in said[0] or said[-1].endswith(f"{name}.")
