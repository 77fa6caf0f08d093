"""Installs the results of `make dist` into empty environments, in every way of docs/install.md."""

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tlslab.experiment.short import VARIABLE

ROOT = Path(__file__).parents[2]
# Takes what this checkout has compiled, in place of the wrapper below.
AS_COMPILED = {"RUSTC_WORKSPACE_WRAPPER": ""}

# The most short runs that a test makes until one has a chart.
RUNS = 3

PROGRAMS = ("tlslab", "tlslab-load", "tlslab-serve")

# In front of a command: such a short run beside other work may be invalid, which is exit code 1.
MAY_SAY_INVALID = ("sh", "-c", '"$@" || [ $? -eq 1 ]', "sh")

pytestmark = pytest.mark.timeout(900)


def run(*command: object, **environment: str) -> str:
    """The output of a command. It must end with 0, and gets nothing of the tests' environment."""
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV",)}
    # The machine's own authorities, as pip uses them: its network may have its own registry.
    kept["UV_SYSTEM_CERTS"] = "1"
    # An installation from the sdist uses the crates that this checkout has compiled.
    kept["CARGO_TARGET_DIR"] = str(ROOT / "target")
    # The own crates, which every unpacked sdist compiles, are quicker to compile than to optimise.
    kept["RUSTC_WORKSPACE_WRAPPER"] = str(Path(__file__).parent / "unoptimised.sh")
    done = subprocess.run(
        [str(word) for word in command],
        cwd=environment.pop("folder", ROOT),
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist, as scripts/dist.sh makes them."""
    folder = tmp_path_factory.mktemp("dist")
    run(ROOT / "scripts" / "dist.sh", folder, **AS_COMPILED)
    return folder


def the(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def with_pip(what: Path, into: Path) -> Path:
    run(sys.executable, "-m", "venv", into / "venv")
    pip = (into / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile")
    run(*pip, what)
    return into / "venv" / "bin"


def with_uv(what: Path, into: Path) -> Path:
    run(
        sys.executable, "-m", "uv", "tool", "install", "--quiet", "--python", sys.executable, what,
        UV_TOOL_DIR=str(into / "tools"), UV_TOOL_BIN_DIR=str(into / "bin"),
    )  # fmt: skip
    return into / "bin"


def with_pipx(what: Path, into: Path) -> Path:
    run(
        sys.executable, "-m", "pipx", "install", "--quiet", "--python", sys.executable, what,
        PIPX_HOME=str(into / "home"), PIPX_BIN_DIR=str(into / "bin"),
        PIPX_MAN_DIR=str(into / "man"), USE_EMOJI="0",
    )  # fmt: skip
    return into / "bin"


WAYS = (with_pip, with_uv, with_pipx)


@pytest.mark.parametrize("install", WAYS)
def test_the_wheel_works(dist: Path, tmp_path: Path, install: Callable[..., Path]) -> None:
    works(install(the(dist, "*.whl"), tmp_path), tmp_path)


@pytest.mark.parametrize("install", WAYS)
def test_the_sdist_works(dist: Path, tmp_path: Path, install: Callable[..., Path]) -> None:
    """Compiles the own crates again; foreign crates were compiled by this checkout."""
    works(install(the(dist, "*.tar.gz"), tmp_path), tmp_path)


def works(programs: Path, folder: Path) -> None:
    """All three programs run, and the lab finds the other two: it makes a run."""
    alone = partial(run, PATH=f"{programs}:/usr/bin:/bin", folder=str(folder))
    versions = {alone(programs / name, "--version").split()[-1] for name in PROGRAMS[1:]}
    assert len(versions) == 1
    command = (programs / "tlslab", "run", "groups", "--quick", "--set", "group=X25519")
    # On a busy machine a short window may pass without a connection: such a run has no chart.
    for number in range(RUNS):
        place = folder / f"run-{number}"
        said = alone(*MAY_SAY_INVALID, *command, "--out", place, **{VARIABLE: "1"})
        assert "X25519" in said
        page = (place / "report.html").read_text("utf-8")
        if "<svg" in page:
            break
    # Styles, script and template are data files of the package.
    assert page.endswith(("</html>\n", "</html>"))
    assert all(each in page for each in ("<svg", "--ink:", "--chart-ink", "<script", "X25519"))


def test_the_wheel_fits_every_python_on_this_platform(dist: Path) -> None:
    wheel = the(dist, "*.whl")
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    assert wheel.name.split("-")[4].startswith("linux_")
    names = zipfile.ZipFile(wheel).namelist()
    scripts = {name.rpartition("/")[2] for name in names if ".data/scripts/" in name}
    assert scripts == set(PROGRAMS[1:])
    assert any(name == "tlslab/studies/groups/groups.toml" for name in names)


def test_the_sdist_has_all_that_cargo_needs_and_nothing_that_was_built(dist: Path) -> None:
    with tarfile.open(the(dist, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files", "crates", "Cargo.toml", "Cargo.lock", ".cargo"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(listed.stdout.split()) - names == set()
    assert "scripts/openssl-perl.sh" in names
    assert not [name for name in names if name.startswith(("target", ".venv", "runs"))]


def test_cargo_installs_the_two_programs(tmp_path: Path) -> None:
    run(
        "cargo", "install", "--quiet", "--locked", "--path", "crates/programs", "--root", tmp_path,
        **AS_COMPILED,
    )  # fmt: skip
    for name in PROGRAMS[1:]:
        assert run(tmp_path / "bin" / name, "--version").startswith(name)


def test_cargo_installs_them_without_openssl_and_they_name_what_they_lack(tmp_path: Path) -> None:
    run(
        "cargo", "install", "--quiet", "--locked", "--no-default-features",
        "--path", "crates/programs", "--root", tmp_path,
    )  # fmt: skip
    load, serve = (tmp_path / "bin" / name for name in PROGRAMS[1:])
    assert run(load, "--version").endswith("(without OpenSSL)\n")
    for line in (
        (load, "probe", "localhost:1", "--only", "alpn"),
        (load, "--json", "--probe", "localhost:1"),
        (load, "in-memory", "-t", "2"),
        (load, "primitives", "--backend", "openssl"),
        (load, "--backend", "openssl", "localhost:1"),
        (load, "schema", "probe"),
        (serve,),
    ):
        ended = subprocess.run(line, capture_output=True, text=True, check=False)
        assert ended.returncode == 3, line
        assert "this build has no OpenSSL" in ended.stderr
        assert "`make setup` builds it" in ended.stderr
    assert "X25519" in run(load, "primitives", "--time", "1ms", "--group", "X25519", "--no-tcp")
