"""The sentences of notes on a cell's trials."""

import pytest

from tlslab.domain.finding import Note
from tlslab.words.validity import message


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (Note("slowdown").in_trials(2, 2), "the rate fell during the measurement"),
        (
            Note.on("client_cost", "slowdown").in_trials(1, 2),
            "1 of 2 trials: the run of the client's cost: the rate fell during the measurement",
        ),
        (
            Note.on("keep_alive", "steal", {"share": 0.25}),
            "connections kept open: the host took 25 % of the machine's time for others",
        ),
        (
            Note("backlog", values={"count": 3, "overflows": 1234}),
            "3 connections waited 1 s or more to connect: the server's backlog is too short "
            "(ListenOverflows rose by 1,234)",
        ),
        (
            Note.on("trial", "server_died", {"message": "it died", "steps": 2, "of": 9}),
            "2 of 9 steps failed: it died",
        ),
        (
            Note.on("search", "still_rising", {"message": "it rises"}),
            "the search was inconclusive: it rises",
        ),
        (
            Note("nothing_completed", values={"run": "capacity", "attempts": 1, "trials": 2}),
            "2 trials: capacity: none of 1 connection completed",
        ),
        (Note("something_else"), None),
    ],
)
def test_a_note_has_a_sentence(note: Note, words: str | None) -> None:
    assert message(note) == words
