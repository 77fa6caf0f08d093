"""`tlslab validate`: the last line gives the reason of its exit code."""

from dataclasses import replace

import pytest

from factories.validation import made_validation
from tlslab.cli import run
from tlslab.domain.validation import RateResult
from tlslab.lab import validate


@pytest.mark.parametrize(
    ("dropped", "code", "words"),
    [
        (0, 0, "8 are too short to judge: the machine's resolution is coarser: exit 0"),
        (3, 1, "no time was compared; 1 load is invalid (2,000/s): packets were lost: exit 1"),
    ],
)
def test_the_exit_code_has_its_reason(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    dropped: int,
    code: int,
    words: str,
) -> None:
    found = made_validation()
    rates: tuple[RateResult, ...] = (replace(found.rates[0], dropped=dropped),)
    monkeypatch.setattr(validate, "validate", lambda *_: replace(found, rates=rates))
    assert run(["validate"]) == code
    assert " ".join(capsys.readouterr().err.split()).endswith(words)
