"""Without a browser the tests are skipped, unless the browser is required."""

from pathlib import Path

import pytest

from browser import opened

CI = Path(__file__).parents[2] / ".ci" / "run"


def test_without_a_browser_tests_are_skipped_only_where_they_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opened, "CHROMIUM", None)
    monkeypatch.delenv(opened.REQUIRED, raising=False)
    assert opened.lacking() == "chromium is not installed"
    monkeypatch.setenv(opened.REQUIRED, "1")
    with pytest.raises(RuntimeError, match="TLSLAB_REQUIRE_BROWSER=1, but chromium is not"):
        opened.lacking()
    monkeypatch.setattr(opened, "CHROMIUM", "/usr/bin/chromium")
    assert opened.lacking() is None


def test_ci_requires_a_browser() -> None:
    assert f"export {opened.REQUIRED}=1" in CI.read_text("utf-8").splitlines()
