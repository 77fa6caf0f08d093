"""`tlslab run --why` on real servers: parts that add up, and runs without the right to sample."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from live.harness import Tlslab, assert_finished, read_trials
from tlslab.analysis.why.explain import INVALID
from tlslab.lab.why.perf import why_not

COST = "server_cpu_us_per_connection"

EXPERIMENT = """\
schema = "tlslab.experiment/2"
name = "why"
title = "What is a connection's cost made of?"
blocks = 1

[factors]
tls = ["{tls}"]
key = {keys}
group = ["X25519"]

[baseline]
key = "ecdsa-p256"

[workload]
document_bytes = 100
connections = 8
requests_per_connection = 1

[workload.capacity]
warmup_ms = 50
measure_ms = 1000

[workload.client_cost]
warmup_ms = 50
measure_ms = 800

[[pin]]
when = {{ key = "ecdsa-*" }}
signature_schemes = ["ecdsa_secp256r1_sha256"]

[[pin]]
when = {{ key = "rsa-*" }}
signature_schemes = ["{rsa}"]
"""

KEYS = ("ecdsa-p256", "rsa-4096")

needs_perf = pytest.mark.skipif(bool(why_not()), reason=f"perf cannot sample here: {why_not()}")


def experiment(folder: Path, *keys: str, tls: str = "1.3") -> str:
    rsa = "rsa_pss_rsae_sha256" if tls == "1.3" else "rsa_pkcs1_sha256"
    text = EXPERIMENT.format(keys=json.dumps(keys), tls=tls, rsa=rsa)
    (folder / "why.toml").write_text(text)
    return "why.toml"


def summary_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def parts_of(cell: dict[str, Any]) -> dict[str, float]:
    return {part["name"]: part["estimate"]["value"] for part in cell["parts"]}


def sampled(folder: Path) -> int:
    """The number of sampled cells, those that other tests have made invalid among them."""
    why = summary_of(folder)["why"]
    assert all(INVALID in reason for reason in why["without"].values())
    return len(why["cells"]) + len(why["without"])


@pytest.fixture(scope="module")
def on_nginx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with samples of nginx."""
    folder = tmp_path_factory.mktemp("nginx")
    lab = Tlslab(folder)
    lab.private.mkdir()
    name = experiment(folder, *KEYS)
    ended = lab.run("run", name, "--target", "nginx", "--why", "--out", "r")
    assert_finished(ended, folder / "r")
    return folder / "r"


def assert_parts(folder: Path) -> None:
    """Parts add up, and the signature is set apart from the key exchange."""
    summary = summary_of(folder)
    assert summary["why"]["without"] == {}
    cells = {cell["factors"]["key"]: cell for cell in summary["why"]["cells"]}
    assert set(cells) == set(KEYS)
    measured = {cell["key"]: cell["estimates"][COST]["value"] for cell in summary["cells"]}
    for cell in cells.values():
        parts = parts_of(cell)
        assert sum(parts.values()) == pytest.approx(measured[cell["cell"]])
        assert sum(part["samples"] for part in cell["parts"]) == cell["samples"] > 100
        assert parts.get("not attributed", 0.0) < 0.15 * measured[cell["cell"]]
    small, large = (parts_of(cells[key]) for key in KEYS)
    assert small["key exchange"] > 0
    assert small["signature"] > 0
    assert max(large, key=lambda part: large[part]) == "signature"
    assert large["signature"] > 0.5 * cells["rsa-4096"]["cost"]["value"]
    page = (folder / "report.html").read_text()
    assert 'id="why"' in page
    assert 'class="flame"' in page


# The samples of cells that other tests make invalid give no parts of a cost.
@needs_perf
@pytest.mark.alone
def test_parts_of_nginx_add_up(on_nginx: Path) -> None:
    assert_parts(on_nginx)


@needs_perf
@pytest.mark.alone
# In TLS 1.3 HAProxy serves no RSA certificate beside an ECDSA one.
@pytest.mark.parametrize("target", ["apache", "haproxy"])
def test_parts_add_up_in_tls_1_2(tlslab: Tlslab, target: str, tmp_path: Path) -> None:
    name = experiment(tmp_path, *KEYS, tls="1.2")
    ended = tlslab.run("run", name, "--target", target, "--why", "--out", "r")
    assert_finished(ended, tmp_path / "r")
    assert_parts(tmp_path / "r")


@needs_perf
@pytest.mark.alone
def test_samples_are_taken_after_the_trials_and_once(
    on_nginx: Path, tlslab: Tlslab, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    shutil.copytree(on_nginx, folder)
    kept = (folder / "stacks.jsonl").read_text()
    last = read_trials(folder)[-1]
    lines = [json.loads(line) for line in kept.splitlines()]
    assert len(lines) == len(KEYS)
    assert all(line["started"] > last["started"] for line in lines)
    again = tlslab.run("run", "--resume", "r")
    assert_finished(again, folder)
    assert (folder / "stacks.jsonl").read_text() == kept
    folded = tlslab.run("report", "r", "--format", "folded")
    assert folded.code == 0
    stacks = [line.rpartition(" ") for line in folded.out.splitlines()]
    cells = summary_of(folder)["why"]["cells"]
    for cell, key in zip(cells, KEYS, strict=True):
        own = [int(number) for stack, _, number in stacks if f"key={key}," in stack]
        assert cell["factors"]["key"] == key
        assert sum(own) == cell["samples"]
    assert all(stack.startswith("tls=1.3,") for stack, _, _ in stacks)


@needs_perf
@pytest.mark.alone
def test_an_interrupt_among_the_samples_leaves_the_rest_to_resume(
    tlslab: Tlslab, tmp_path: Path
) -> None:
    name = experiment(tmp_path, *KEYS)
    child = tlslab.start("run", name, "--target", "reference", "--why", "--out", "r")
    tlslab.named("perf")
    child.send_signal(signal.SIGINT)
    ended = tlslab.finish(child)
    assert ended.code == 130
    assert "tlslab run --resume r" in ended.err
    assert_finished(tlslab.run("run", "--resume", "r"), tmp_path / "r")
    assert sampled(tmp_path / "r") == len(KEYS)
    assert_parts(tmp_path / "r")


def test_without_perf_the_run_says_so_and_goes_on(tlslab: Tlslab, tmp_path: Path) -> None:
    others = tmp_path / "bin"
    others.mkdir()
    for folder in ("/usr/sbin", "/sbin", "/usr/bin", "/bin"):
        for path in Path(folder).iterdir():
            link = others / path.name
            if path.name != "perf" and not link.exists():
                link.symlink_to(path)
    name = experiment(tmp_path, "ecdsa-p256")
    variables = {"PATH": str(others)}
    assert shutil.which("perf", path=str(others)) is None
    ended = tlslab.run("run", name, "--target", "nginx", "--why", "--out", "r", **variables)
    assert_finished(ended, tmp_path / "r")
    lines = [line for line in ended.err.splitlines() if "perf is not installed" in line]
    assert len(lines) == 1
    summary = summary_of(tmp_path / "r")
    assert list(summary["why"]["without"].values()) == [
        "perf is not installed: apt-get install linux-perf"
    ]
    assert summary["why"]["cells"] == []
    if not why_not():
        # Once perf is available again, the same run gets its samples.
        assert_finished(tlslab.run("run", "--resume", "r", PATH=os.environ["PATH"]), tmp_path / "r")
        assert sampled(tmp_path / "r") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("why.toml", "--target", "https://127.0.0.1:1/"), "a server that the lab starts"),
        (("capacity", "--target", "nginx"), "those of capacity are not"),
    ],
)
def test_what_cannot_be_sampled_is_refused_before_it_starts(
    tlslab: Tlslab, arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    experiment(tmp_path, "ecdsa-p256")
    ended = tlslab.run("run", *arguments, "--why", "--out", "r")
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert words in ended.errors[0]
    assert not (tmp_path / "r").exists()


def test_a_run_without_samples_has_no_folded_stacks(tlslab: Tlslab, tmp_path: Path) -> None:
    name = experiment(tmp_path, "ecdsa-p256")
    assert_finished(tlslab.run("run", name, "--target", "reference", "--out", "r"), tmp_path / "r")
    ended = tlslab.run("report", "r", "--format", "folded")
    assert ended.code == 2
    assert ended.out == ""
    assert "--why" in ended.err
    assert summary_of(tmp_path / "r")["why"] is None
