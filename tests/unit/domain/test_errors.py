"""Every kind of error has a remedy."""

from collections.abc import Iterator

import pytest

from tlslab.domain import errors
from tlslab.domain.errors import EngineError, ExperimentError, TlslabError, UsageError


def kinds(of: type[TlslabError] = TlslabError) -> Iterator[type[TlslabError]]:
    yield of
    for kind in of.__subclasses__():
        yield from kinds(kind)


def raised(kind: type[TlslabError]) -> TlslabError:
    if issubclass(kind, ExperimentError):
        return kind("file.toml", 1, "words")
    if issubclass(kind, EngineError):
        return kind("refused", "words")
    return kind("words")


@pytest.mark.parametrize("kind", [k for k in kinds() if k.__module__ == errors.__name__])
def test_no_error_is_without_a_remedy(kind: type[TlslabError]) -> None:
    assert raised(kind).remedy


def test_the_remedy_of_the_place_goes_first() -> None:
    assert UsageError("words", "do this").remedy == "do this"
    assert EngineError("usage", "words").remedy == UsageError("words").remedy
