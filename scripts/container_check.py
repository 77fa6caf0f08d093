#!/usr/bin/env python3
"""Carries out the Containerfile without a container engine, and makes a run in what comes of it.

    sudo scripts/container_check.py [--folder FOLDER] [--wheel FILE]

Each stage has a root folder of its own, made by debootstrap, in which its steps are run by chroot.
In place of the image `rust` the toolchain of this machine is taken, whatever its version. `--wheel`
takes a wheel (`make dist`) for the one that the first stages make: they are left out. The context
is what git tracks. Needs root, Linux, debootstrap and unshare (Debian: debootstrap, util-linux);
some 10 minutes and 4 GB. FOLDER (target/container) is made anew, but for the bare systems.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SUITES = ("bookworm", "trixie")

# The packages of the image `rust` in addition to the toolchain.
RUST_PACKAGES = "ca-certificates gcc libc6-dev"
RUST = "usr/local/rust"

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# This machine's access to its mirrors does not belong to the image; apt only on the same release.
NETWORK = ("etc/resolv.conf", "etc/hosts", "usr/local/share/ca-certificates")
NETWORK_OF_APT = ("etc/apt/sources.list", "etc/apt/sources.list.d", "etc/apt/apt.conf.d")
PROXIES = ("http_proxy", "https_proxy", "no_proxy")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
# A path at which no package of the image has a file.
AUTHORITIES_THERE = "/etc/authorities-of-the-host.crt"
AUTHORITY_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "CARGO_HTTP_CAINFO")

# Runs of the finished image: a short one against the lab's own server, and one against nginx.
SHORT = ("run", "groups", "--quick", "--set", "group=X25519")
RUNS = (
    (*SHORT, "--out", "/runs/reference"),
    (*SHORT, "--target", "nginx", "--out", "/runs/nginx"),
)


def say(text: str) -> None:
    """Prints a line on the current step."""
    sys.stdout.write(f"== {text}\n")
    sys.stdout.flush()


class CheckError(Exception):
    """The Containerfile cannot be carried out, or its result does not work."""


@dataclass
class Stage:
    """`FROM base AS name` with its steps, each a keyword and the rest of its line."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)


def stages(text: str) -> list[Stage]:
    """The stages of a Containerfile. Raises CheckError for an unknown step."""
    known = ("RUN", "WORKDIR", "COPY", "ENV", "ENTRYPOINT", "CMD")
    found: list[Stage] = []
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").split("\n"):
        keyword, _, rest = line.strip().partition(" ")
        if keyword == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(base, name or str(len(found))))
        elif keyword in known and found:
            found[-1].steps.append((keyword, " ".join(rest.split())))
        elif keyword:
            raise CheckError(f"unknown step: {line}")
    return found


def suite(base: str) -> str:
    """The Debian release of an image: `rust:1.90-slim-bookworm`."""
    parts = base.partition(":")[2].split("-")
    found = [name for name in SUITES if name in parts]
    if not found:
        raise CheckError(f"no release of Debian in {base}")
    return found[0]


def context(tracked: Sequence[str], ignored: str) -> list[str]:
    """The tracked files that `.containerignore` leaves in the context."""
    patterns = [line.strip().strip("/") for line in ignored.splitlines() if line.strip()]
    return [
        path
        for path in tracked
        if not any(path == each or path.startswith(f"{each}/") for each in patterns)
    ]


def assignments(text: str) -> dict[str, str]:
    """The variables of an ENV step."""
    pairs = (part.partition("=") for part in shlex.split(text))
    return {name: value for name, _, value in pairs}


class Image:
    """The root folder of a stage, with its environment and working directory."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self.folder = "/"
        self.entry: list[str] = []
        self.environment = {"HOME": "/root", "PATH": PATH, **environment}

    def run(self, command: str) -> None:
        """Runs a shell command in the image. Raises CheckError if it fails."""
        say(command)
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        there = f"cd {shlex.quote(self.folder)} && {command}"
        inside = ["env", "-i", *variables, "sh", "-c", there]
        spaces = ["unshare", "--pid", "--fork", "--kill-child", f"--mount-proc={self.root}/proc"]
        outer = [*spaces, "chroot", str(self.root), *inside]
        if code := subprocess.run(outer, stdin=subprocess.DEVNULL, check=False).returncode:
            raise CheckError(f"exit code {code}: {command}")

    def place(self, path: str) -> Path:
        """A path of the image as a path of this machine."""
        return self.root / os.path.join(self.folder, path).lstrip("/")

    def carry_out(self, stage: Stage, images: Mapping[str, "Image"]) -> None:
        """All steps of a stage."""
        for keyword, text in stage.steps:
            match keyword:
                case "RUN":
                    self.run(text)
                case "WORKDIR":
                    self.folder = os.path.join(self.folder, text)
                    self.place("").mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self.copy(text, images)
                case "ENV":
                    path = self.environment["PATH"]
                    for name, value in assignments(text).items():
                        self.environment[name] = value.replace("$PATH", path)
                case "ENTRYPOINT":
                    self.entry = json.loads(text)

    def copy(self, text: str, images: Mapping[str, "Image"]) -> None:
        """Carries out a COPY step: from the context, or `--from` another stage."""
        *options, source, target = shlex.split(text)
        if options:
            from_ = images[options[0].removeprefix("--from=")].place(source)
            shutil.copytree(from_, self.place(target), dirs_exist_ok=True)
            return
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        ignored = (ROOT / ".containerignore").read_text("utf-8")
        for path in context([each for each in listed.stdout.split("\0") if each], ignored):
            if source not in (".", path):
                continue
            to = self.place(target) / path if source == "." else self.place(target)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, to, follow_symlinks=False)


def bare(folder: Path, release: str) -> Path:
    """A bare system of this Debian release, like its image; made once."""
    root = folder / f"bare-{release}"
    if (root / "usr/sbin/policy-rc.d").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["debootstrap", "--variant=minbase", release, root], check=True)
    same = f"VERSION_CODENAME={release}" in Path("/etc/os-release").read_text("utf-8").split()
    if same:
        (root / "etc/apt/sources.list").unlink()
    for name in (*NETWORK, *(NETWORK_OF_APT if same else ())):
        here = Path("/") / name
        if here.is_dir():
            shutil.copytree(here, root / name, dirs_exist_ok=True)
        elif here.exists():
            shutil.copyfile(here, root / name)
    if AUTHORITIES.exists():
        shutil.copyfile(AUTHORITIES, root / AUTHORITIES_THERE.lstrip("/"))
    # In Debian's image no service starts when its package is installed.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    return root


def image(folder: Path, stage: Stage) -> Image:
    """The root of a stage, as its base image would provide it."""
    root = folder / stage.name
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "-a", bare(folder, suite(stage.base)), root], check=True)
    reached = {name: os.environ[name] for name in PROXIES if name in os.environ}
    if AUTHORITIES.exists():
        reached |= dict.fromkeys(AUTHORITY_VARIABLES, AUTHORITIES_THERE)
    made = Image(root, reached)
    if stage.base.startswith("rust:"):
        asked = ["rustc", "--print", "sysroot"]
        sysroot = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        (root / RUST).mkdir(parents=True)
        for part in ("bin", "lib"):
            subprocess.run(["cp", "-a", f"{sysroot}/{part}", root / RUST], check=True)
        made.environment["PATH"] = f"/{RUST}/bin:{PATH}"
        install = "apt-get install -y -qq --no-install-recommends"
        made.run(f"apt-get update -qq && {install} {RUST_PACKAGES}")
    return made


def check(folder: Path, wheel: Path | None) -> None:
    """Carries out all stages, and makes runs in the last one."""
    made: dict[str, Image] = {}
    *earlier, last = stages((ROOT / "Containerfile").read_text("utf-8"))
    for stage in earlier:
        if wheel is None:
            made[stage.name] = image(folder, stage)
            made[stage.name].carry_out(stage, made)
        else:
            made[stage.name] = Image(folder / stage.name, {})
            wheels = folder / stage.name / "wheels"
            shutil.rmtree(wheels, ignore_errors=True)
            wheels.mkdir(parents=True)
            shutil.copy2(wheel, wheels)
    final = made[last.name] = image(folder, last)
    final.carry_out(last, made)
    entry = shlex.join(final.entry)
    final.run(f"{entry} --version")
    final.environment["TLSLAB_SHORT_RUNS"] = "1"
    for arguments in RUNS:
        # 1 means that a verdict of so short a run failed.
        final.run(f"{entry} {shlex.join(arguments)} || [ $? -eq 1 ]")
        final.run(f"test -s {arguments[-1]}/report.html")


def main() -> int:
    """The exit code: 0 if everything works, 1 if not, 3 if it cannot be tried."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=ROOT / "target" / "container")
    parser.add_argument("--wheel", type=Path)
    arguments = parser.parse_args()
    missing = [name for name in ("debootstrap", "unshare", "chroot") if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        sys.stderr.write(f"error: needs {', '.join(['to be root', *missing])}\n")
        return 3
    arguments.folder.mkdir(parents=True, exist_ok=True)
    try:
        check(arguments.folder.resolve(), arguments.wheel)
    except (CheckError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    say("the steps of the Containerfile work")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
