"""The experiment of a question: what varies, what is fixed, what is measured."""

import pytest

from tlslab.domain.effects import Mix
from tlslab.domain.errors import UsageError
from tlslab.experiment import dumps, loads, make_cells, measures_in, mix_in, question

VARY = {"key": ("rsa-2048", "ecdsa-p256"), "tls": ("1.2", "1.3")}


def test_every_combination_is_measured_new_and_resumed() -> None:
    asked = question(VARY, {"group": ("X25519",)}, ("new", "resumed"))
    cells, excluded = make_cells(asked)
    assert (len(cells), excluded) == (8, ())
    assert asked.baseline == {"key": "rsa-2048", "tls": "1.2"}
    assert {cell.factors["resumed"] for cell in cells} == {"0%", "100%"}
    assert {cell.factors["group"] for cell in cells} == {"X25519"}
    # Each version in its own way.
    assert {(c.factors["tls"], c.deployment.resume) for c in cells if c.deployment} == {
        ("1.2", "ticket"),
        ("1.3", "psk"),
    }


def test_a_file_of_it_reads_back_as_the_same() -> None:
    asked = question(VARY, {}, ("new",), Mix(0.6, 8))
    assert loads(dumps(asked), "question") == asked


def test_without_tls_only_the_server_differs() -> None:
    asked = question({"tls": ("none", "1.3")}, {}, ("new", "request"))
    cells, excluded = make_cells(asked, "nginx")
    assert not excluded
    assert {(c.factors["tls"], c.deployment.plain) for c in cells if c.deployment} == {
        ("none", True),
        ("1.3", False),
    }
    with pytest.raises(UsageError, match="without TLS"):
        question({"tls": ("none", "1.3")}, {}, ("new", "resumed"))


def test_a_mix_measures_all_that_it_needs() -> None:
    only_new = question(VARY, {}, ("new",))
    assert (only_new.levels("resumed"), only_new.workload.keep_alive) == (("0%",), None)
    mixed = question(VARY, {}, ("new",), Mix(0.6, 8))
    assert mixed.levels("resumed") == ("0%", "100%")
    assert mixed.workload.keep_alive is not None


@pytest.mark.parametrize(
    ("vary", "fixed", "words"),
    [
        ({"tls": ("1.3",)}, {}, "--vary tls=1.3: one level only"),
        ({"tls": ("1.3", "1.3")}, {}, "one level only"),
        ({"group": ("X25519", "x25519")}, {}, "one level only"),
        (VARY, {"tls": ("1.3",)}, "tls is asked about and fixed"),
        (VARY, {"group": ("X25519", "P-256")}, "several levels are a question"),
        ({"resumed": ("0%", "100%")}, {}, "what is measured, not what varies"),
        (VARY, {"resume": ("ticket",)}, "what is measured, not what varies"),
        ({"colour": ("red", "blue")}, {}, "unknown factor 'colour'"),
        ({"tls": ("1.2", "1.3")}, {"group": ("X25519MLKEM768",)}, "tls=1.2: .* in TLS 1.3 only"),
        ({"tls": ("none", "1.3")}, {"group": ("X25519",)}, "tls=none: without TLS there is no key"),
        ({"tls": ("1.2", "1.4")}, {}, "1.4"),
    ],
)
def test_a_malformed_question_is_refused(
    vary: dict[str, tuple[str, ...]], fixed: dict[str, tuple[str, ...]], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        question(vary, fixed, ("new",))


@pytest.mark.parametrize(
    ("text", "mix"),
    [
        ("60% resumed, 8 requests", Mix(0.6, 8)),
        ("60 % resumed, 8 requests each", Mix(0.6, 8)),
        ("100% resumed", Mix(1.0, 1)),
        ("0% resumed, 1 request", Mix(0.0, 1)),
    ],
)
def test_a_mix_is_written_as_it_is_said(text: str, mix: Mix) -> None:
    assert mix_in(text) == mix


@pytest.mark.parametrize("text", ["", "half", "101% resumed", "60% resumed, 0 requests"])
def test_other_mixes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a mix"):
        mix_in(text)


def test_measures_are_named() -> None:
    assert measures_in("resumed, new") == ("new", "resumed")
    for wrong in ("", "new,all"):
        with pytest.raises(UsageError, match="no such measure"):
            measures_in(wrong)
