"""The accounting of BoGo's cases reports every fault that it must detect."""

import pytest

from bogo.accounting import VARYING, Case, Client, problems_of_all, settled

REASON = "the library sends no alert"
CASES = [Case("A-1", "passed"), Case("B-1", "failed", "EOF"), Case("C-1", "unimplemented", "-x")]
COMMON = {"-x": "tlslab has no such thing"}


def client(
    cases: list[Case] = CASES,
    disabled: dict[str, str] | None = None,
    flags: dict[str, str] | None = None,
) -> Client:
    return Client(
        "rustls",
        cases,
        {"B-*": REASON} if disabled is None else disabled,
        COMMON if flags is None else COMMON | flags,
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (client(disabled={}), "B-1 fails, and no reason is given"),
        (client(disabled={"*-1": REASON}), "A-1 passes, but *-1 is disabled"),
        (client(disabled={"B-1": REASON, "D-1": REASON}), "D-1 names no case that fails"),
        (client(disabled={"B-1": REASON, "A-1": REASON}), "A-1 passes"),
        (client(disabled={"B-1": "flaky"}), "B-1 has no reason in words"),
        (client(flags={"-y": "no such thing"}), "no case needs -y"),
        (client([*CASES, Case("C-2", "unimplemented", "-z")]), "C-2 needs -z, which has no reason"),
        (client([*CASES, Case("C-2", "lost")]), "C-2 is neither passed nor failed"),
        (client([]), "there are no cases"),
    ],
)
def test_a_wrong_account_is_reported(wrong: Client, words: str) -> None:
    assert any(words in problem for problem in problems_of_all([wrong], COMMON))


def test_all_clients_run_the_same_cases() -> None:
    fewer = client(CASES[1:])
    assert "the clients have not run the same cases" in problems_of_all([client(), fewer], COMMON)


def test_a_case_that_varies_is_disabled_either_way_and_there_are_few_of_them() -> None:
    varying = {"A-1": "depends on segments"}
    assert [settled(case, varying).result for case in CASES] == [
        "failed",
        "failed",
        "unimplemented",
    ]
    too_many = {str(number): REASON for number in range(VARYING + 1)}
    with pytest.raises(ValueError, match="cases that vary"):
        settled(CASES[0], too_many)
