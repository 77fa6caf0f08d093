import pytest

from factories.benchmarks import TEXT
from tlslab.domain.errors import ExperimentError, UsageError
from tlslab.experiment import dumps, load, loads, make_plan, with_levels
from tlslab.experiment.benchmark import add_faults
from tlslab.lab.benchmark.benchmark_run import mean_seconds


def test_the_shipped_experiment_is_written_and_read_back() -> None:
    for quick in (False, True):
        experiment = load("concurrency", "quick" if quick else "")
        again = loads(dumps(experiment), "again.toml")
        assert again.settings == experiment.settings
        assert again.factors == experiment.factors
        assert again.exclusions == experiment.exclusions
    assert load("concurrency").settings.seconds == 200


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["throughput", "sample"]', '["average"]', "unknown name 'average'"),
        ('keys = ["memory", "pkcs11", "cluster"]', 'keys = ["cloud"]', "unknown name 'cloud'"),
        ('threads = ["1", "2", "4", "8", "16"]', 'threads = ["0"]', "whole numbers from 1"),
        ("iterations = 3", "iterations = 0", "from 1 to 1000"),
        ("until_s = 8", "until_s = 3", "from 5 to 12"),
        ('benchmark = "sign"\nthreads = 4', 'benchmark = "draw"\nthreads = 4', "that signs"),
        ('["none", "killed"]', '["melted"]', "unknown name 'melted'"),
        ("[faults]", "[workload]\n[faults]", "workload: unknown key"),
    ],
)
def test_faults_of_a_file_are_reported_by_name(old: str, new: str, words: str) -> None:
    assert old in TEXT
    with pytest.raises(ExperimentError, match=words):
        loads(TEXT.replace(old, new, 1), "file.toml")


def test_levels_are_set_as_for_every_kind() -> None:
    experiment = with_levels(loads(TEXT, "file.toml"), {"runtime": ("jdk-25",), "threads": ("3",)})
    assert experiment.levels("runtime") == ("jdk-25",)
    with pytest.raises(UsageError, match="unknown factor"):
        with_levels(experiment, {"group": ("X25519",)})


def test_time_left_counts_forks_engine_trials_and_faults_apart() -> None:
    chosen = {"runtime": ("jdk-25", "engine"), "threads": ("2",), "keys": ("cluster",)}
    experiment = with_levels(load("concurrency"), chosen | {"benchmark": ("handshake-tls12",)})
    plan = add_faults(make_plan(experiment, 1), experiment)
    # In each block: a fork of both modes, one of the engine, and eight loads with faults.
    expected = (203 + 50.2 + 8 * 31.5) / 10
    assert mean_seconds(plan, experiment.settings) == pytest.approx(expected)
