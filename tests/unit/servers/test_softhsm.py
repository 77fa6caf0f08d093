"""Messages of programs about PKCS #11, in one line with the remedy."""

import pytest

from tlslab.domain.errors import CannotRunError
from tlslab.servers import softhsm
from tlslab.servers.certificates import CertificateFiles
from tlslab.servers.softhsm import explain


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        ("C_Login failed: rv = CKR_PIN_INCORRECT (0xa0)", "refuses the PIN", "the file"),
        ("error: Failed to load pkcs11 module\nAborting.", "is no PKCS #11 module", "softhsm2"),
        ("No slot with token named\n'other' found", "No slot with token named 'other' found", ""),
    ],
)
def test_words_become_one_line(words: str, message: str, remedy: str) -> None:
    error = explain(words, "/m.so", "t")
    assert message in error.message
    assert remedy in error.remedy
    assert "\n" not in error.message


def test_a_missing_program_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    folder = tmp_path_factory.mktemp("token")
    files = CertificateFiles(folder / "c.pem", folder / "c.key")
    with pytest.raises(CannotRunError, match="softhsm2-util is not installed") as caught:
        softhsm.make_token(folder, files)
    assert "softhsm2 and opensc" in caught.value.remedy
