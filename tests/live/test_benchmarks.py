"""Benchmarks on the real Java and the real token; so small that no figure is meaningful."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from live.harness import Tlslab, read_trials, wait_for_trials
from live.studies import SECONDS, assert_whole, study_named
from tlslab.domain.benchmark import BenchmarkSettings, settings_of
from tlslab.experiment import load
from tlslab.lab.benchmark.jmh import Fork, ForkFailedError, find_jar, run_fork
from tlslab.lab.benchmark.keystores import KeyStore, KeyStores, make_material
from tlslab.servers.jdk import find_jdks

TINY = """\
schema = "tlslab.experiment/2"
kind = "benchmark"
name = "tiny"
title = "Does it work?"
published = "pix-2024"
blocks = {blocks}

[factors]
runtime = {runtime}
benchmark = ["handshake-tls12", "sign"]
keys = ["memory", "pkcs11"]
threads = ["2"]

[baseline]
keys = "memory"

[benchmark]
modes = ["sample"]
warmup_iterations = 0
warmup_ms = 100
iterations = 1
iteration_ms = 100

[[exclude]]
when = {{ runtime = "engine", benchmark = "sign" }}
reason = "the engine makes handshakes only"
"""

SETTINGS = BenchmarkSettings(("throughput",), 0, 100, 1, 100)


def write(folder: Path, runtime: str, blocks: int = 1) -> str:
    (folder / "tiny.toml").write_text(TINY.format(runtime=runtime, blocks=blocks), "utf-8")
    return "tiny.toml"


def test_keys_in_memory_and_behind_pkcs11_in_both_runtimes(tlslab: Tlslab, tmp_path: Path) -> None:
    name = write(tmp_path, '["jdk-newest", "engine"]')
    ended = tlslab.run("run", name, "--out", "r")
    assert ended.code == 0, ended.err
    found = read_trials(tmp_path / "r")
    assert {trial["status"] for trial in found} == {"done"}
    assert len(found) == 6
    for trial in found:
        run = trial["benchmarks"]["sample"]
        assert run["iterations"][0]["operations"] > 0
        assert run["threads"] == 2
        if trial["factors"]["runtime"] != "engine":
            assert run["program"] == "JMH 1.37"
            raw = json.loads((tmp_path / "r" / "jmh" / f"trial-{trial['trial']}.json").read_text())
            assert raw[0]["params"]["keys"] == trial["factors"]["keys"]
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert {table["id"] for table in summary["tables"]} >= {"rates", "published"}
    pins = [path for path in (tmp_path / "r").rglob("*") if path.is_file()]
    assert all(b"pkcs11.pin" not in path.read_bytes() for path in pins)


def test_both_sides_have_processors_of_their_own(tlslab: Tlslab, tmp_path: Path) -> None:
    """A division that the machine does not have is one reason; the other cells run."""
    text = TINY.format(runtime='["jdk-newest"]', blocks=1)
    text = text.replace('["memory", "pkcs11"]', '["cluster"]').replace('"handshake-tls12", ', "")
    text = text.replace('threads = ["2"]', 'threads = ["2"]\nsplit = ["shared", "1:1", "1:99"]')
    text = text.replace('[baseline]\nkeys = "memory"', '[baseline]\nkeys = "cluster"')
    (tmp_path / "split.toml").write_text(text, "utf-8")
    ended = tlslab.run("run", "split.toml", "--out", "r")
    assert ended.code == 0, ended.err
    found = {trial["factors"]["split"]: trial for trial in read_trials(tmp_path / "r")}
    assert found["1:99"]["status"] == "unsupported"
    assert "1:99 needs 100 processors" in found["1:99"]["reason"]["message"]
    for split in ("shared", "1:1"):
        run = found[split]["benchmarks"]["sample"]["iterations"][0]
        assert run["operations"] > 0
        assert run["signers_cpu_us"] > 0


def test_a_java_that_crashes_once_and_one_that_does_not_start(
    tlslab: Tlslab, tmp_path: Path
) -> None:
    real = find_jdks().found[-1].java
    crashing = tmp_path / "crashing" / "bin" / "java"
    crashing.parent.mkdir(parents=True)
    crashed = tmp_path / "crashed"
    crashing.write_text(
        "#!/bin/sh\n"
        'case "$*" in -version) echo \'openjdk version "99"\' >&2; exit 0;; esac\n'
        f"if [ ! -e {crashed} ]; then touch {crashed}; kill -SEGV $$; fi\n"
        f'exec {real} "$@"\n'
    )
    crashing.chmod(0o755)
    ended = tlslab.run(
        "run", write(tmp_path, '["jdk-newest"]', blocks=2), "--set", "benchmark=sign",
        "--set", "keys=memory", "--out", "r", JAVA_HOME=str(crashing.parents[1]),
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert [trial["status"] for trial in read_trials(tmp_path / "r")] == ["failed", "done"]
    assert "benchmark_failed" in (tmp_path / "r" / "summary.json").read_text()

    crashing.write_text("#!/bin/sh\necho 'no room for the heap' >&2\nexit 1\n")
    ended = tlslab.run(
        "run", write(tmp_path, '["jdk-in-crashing", "jdk-newest"]'), "--set", "benchmark=sign",
        "--set", "keys=memory", "--out", "q", JAVA_HOME=str(crashing.parents[1]),
    )  # fmt: skip
    assert ended.code == 1
    found = {trial["factors"]["runtime"]: trial for trial in read_trials(tmp_path / "q")}
    assert found["jdk-in-crashing"]["reason"]["class"] == "runtime_missing"
    assert "no room for the heap" in found["jdk-in-crashing"]["reason"]["message"]
    assert [trial["status"] for trial in found.values()].count("done") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pkcs11.pin": "wrong"}, "CKR_PIN_INCORRECT"),
        ({"pkcs11.library": "/nowhere.so"}, "/nowhere.so"),
    ],
)
def test_a_token_that_does_not_open_is_reported_in_its_own_words(
    tmp_path: Path, change: Any, words: str
) -> None:
    material = make_material(tmp_path)
    with KeyStores(["pkcs11"], material) as stores:
        keys = stores["pkcs11"]
        assert not keys.failure
        spoiled = KeyStore("pkcs11", {**keys.settings, **change}, keys.environment)
        file = material.write_settings("spoiled", spoiled.settings)
        fork = Fork(find_jdks().found[-1], find_jar(), "sign", spoiled, 1, file, SETTINGS)
        with pytest.raises(ForkFailedError, match=words):
            run_fork(fork, tmp_path / "result.json", tmp_path / "log")


def test_an_interrupted_run_is_resumed(tlslab: Tlslab, tmp_path: Path) -> None:
    name = write(tmp_path, '["engine"]', blocks=4)
    process = tlslab.start("run", name, "--out", "r", "--set", "keys=memory")
    wait_for_trials(tmp_path / "r", 1)
    process.send_signal(signal.SIGINT)
    assert tlslab.finish(process).code == 130
    before = len(read_trials(tmp_path / "r"))
    assert 1 <= before < 4
    ended = tlslab.run("run", name, "--resume", "r", "--set", "keys=memory")
    assert ended.code == 0, ended.err
    assert len(read_trials(tmp_path / "r")) == 4


@pytest.fixture(scope="module")
def concurrency(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study `concurrency`, once: its quick form kills a node of the cluster, too."""
    folder = tmp_path_factory.mktemp("concurrency")
    lab = Tlslab(folder)
    lab.private.mkdir()
    options = ("--seconds", "0.2", *study_named("concurrency").flags)
    ended = lab.finish(lab.start("run", "concurrency", "--quick", "--out", "r", *options), SECONDS)
    # Its validity depends on the other work of the machine.
    assert ended.code in (0, 1), ended.err
    return folder / "r"


# Signing times out after one second.
@pytest.mark.alone
@pytest.mark.timeout(SECONDS + 60)
def test_the_study_of_concurrency_is_carried_out_whole(concurrency: Path) -> None:
    assert_whole(concurrency, study_named("concurrency"))


@pytest.mark.alone
@pytest.mark.timeout(SECONDS + 60)
def test_a_node_of_the_cluster_is_killed(concurrency: Path) -> None:
    faults = settings_of(load("concurrency", "quick")).faults
    assert faults is not None
    made = read_trials(concurrency)
    through = [each for each in made if each["factors"]["keys"] == "cluster"]
    signed = [each for each in through if each["factors"]["benchmark"] == "sign"]
    loads = [each for each in signed if each["timeline"] is not None]
    measured = [each for each in signed if each["timeline"] is None]
    assert measured
    for each in measured:
        for iteration in each["benchmarks"]["sample"]["iterations"]:
            assert iteration["signers_cpu_us"] > 0
    assert len(loads) == 2
    for trial in loads:
        timeline = trial["timeline"]
        assert len(timeline["slices"]) == faults.seconds
        assert [event["what"] for event in timeline["events"]] == ["node a is killed"]
        # A slice ends when the load gets a processor, and may then include the kill.
        # The time of the kill is read after the kill.
        killed_s = timeline["events"][0]["at_s"]
        before = [each for each in timeline["slices"] if each["at_s"] < killed_s - 0.1]
        # An ejected node has failed once, right after the kill.
        settled_s = killed_s + 0.5
        after = [each for each in timeline["slices"] if each["at_s"] - each["seconds"] > settled_s]
        assert before
        assert after
        assert not any(each["failed"] for each in before)
        assert all(each["completed"] for each in after)
        # Every second operation goes to the dead node, unless that node is ejected.
        assert any(each["failed"] for each in after) == (timeline["policy"] == "none")
