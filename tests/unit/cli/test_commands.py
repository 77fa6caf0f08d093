"""The parts of the command line that need no engine."""

from pathlib import Path

import pytest

from factories.no_home import without_home
from tlslab.cli import allow, ending
from tlslab.cli.running import parse_levels, parse_targets, with_jdks, with_targets
from tlslab.domain.errors import UsageError
from tlslab.experiment import load, with_levels


def test_levels_are_read_from_set_options() -> None:
    assert parse_levels(["group=X25519, P-384", "tls=1.3"]) == {
        "group": ("X25519", "P-384"),
        "tls": ("1.3",),
    }


@pytest.mark.parametrize("settings", [["group"], ["group="], ["=x", "=y"], ["tls=1.3", "tls=1.2"]])
def test_settings_that_say_nothing_are_refused(settings: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_levels(settings)


def test_targets_are_names_with_commas_or_urls() -> None:
    assert parse_targets(["nginx,apache", "haproxy", "nginx"]) == ("nginx", "apache", "haproxy")
    assert parse_targets(["https://host/a,b"]) == ("https://host/a,b",)
    assert parse_targets(["https://h/,https://h/"]) == ("https://h/",)
    both = ("https://h/", "https://localhost:8443/")
    assert parse_targets(["https://h/,localhost:8443"]) == both
    assert parse_targets(["https://h/", "localhost:8443"]) == both
    # One server has one text.
    assert parse_targets(["https://h:1", "HTTPS://H:1/", "h:1"]) == ("https://h:1/",)
    assert parse_targets(["https://h/A", "https://h/A/"]) == ("https://h/A", "https://h/A/")


def test_several_targets_are_a_factor_and_one_is_none() -> None:
    groups = load("groups", "quick")
    assert with_targets(groups, ()) == (groups, ("reference",))
    assert with_targets(groups, ("nginx",)) == (groups, ("nginx",))
    two, targets = with_targets(groups, ("nginx", "reference"))
    assert (two.levels("server"), targets) == (("nginx", "reference"), ("nginx", "reference"))
    assert with_targets(two, ()) == (two, ("nginx", "reference"))
    assert with_targets(two, ("nginx",))[0].levels("server") == ("nginx",)
    urls = ("https://host:1/", "https://host:2/")
    assert with_targets(groups, urls)[0].levels("server") == urls
    assert with_targets(with_targets(groups, urls)[0], ()) == (with_targets(groups, urls)[0], urls)
    for given in (("https://h/", "nginx"), ("nginx", "https://h/")):
        with pytest.raises(UsageError, match="--target: a URL and a server that the lab starts"):
            with_targets(groups, given)
        with pytest.raises(UsageError, match="--set server: a URL and a server"):
            with_targets(with_levels(groups, {"server": given}), ())
    same = with_levels(groups, {"server": ("https://h:1", "https://H:1/")})
    assert same.levels("server") == ("https://h:1/",)
    with pytest.raises(UsageError, match="written %2C"):
        with_levels(groups, {"server": ("https://h/a,b",)})
    with pytest.raises(UsageError, match="compares servers that the lab starts"):
        with_targets(with_levels(groups, {"server": ("nginx",)}), ("https://host/",))
    with pytest.raises(UsageError, match="takes one server at a time"):
        with_targets(load("calibrate"), urls)
    with pytest.raises(UsageError, match="concurrency has none"):
        with_targets(load("concurrency"), ("nginx",))


def test_the_allow_file_has_one_host_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert allow.read_allow_file() == ()
    file = tmp_path / "tlslab" / "allow"
    file.parent.mkdir()
    file.write_text("# mine\nhost.example  # the test bed\n\n192.0.2.1\n")
    assert allow.read_allow_file() == ("host.example", "192.0.2.1")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    without_home(monkeypatch)
    assert allow.read_allow_file() == ()


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["valid", "at_least", "unsupported"], 0),
        (["unsupported"], 1),
        (["valid", "invalid"], 1),
        (["valid", "failed"], 1),
        ([], 1),
    ],
)
def test_the_exit_code_follows_the_verdicts(verdicts: list[str], code: int) -> None:
    class Cell:
        def __init__(self, verdict: str) -> None:
            self.verdict = verdict

    class Summary:
        cells = tuple(Cell(verdict) for verdict in verdicts)

    assert ending.exit_code(Summary()) == code  # type: ignore[arg-type]


def test_a_java_installation_is_for_experiments_on_java() -> None:
    given = (Path("/nowhere"),)
    assert with_jdks(load("concurrency"), given) == load("concurrency")
    with pytest.raises(UsageError, match="runtimes, concurrency"):
        with_jdks(load("groups"), given)
    assert with_jdks(load("groups"), ()) == load("groups")
