"""Fixtures and settings for all tests; which stage each test belongs to."""

from collections import defaultdict
from pathlib import Path

import pytest
import stages
from hypothesis import settings

from factories.run import made_run
from factories.worded import summarise
from tlslab.domain.finding import Summary

# The files that take longest, in this order. If one of them started last, other processors would
# idle at the end.
LONGEST_FIRST = (
    "test_how_to.py", "test_readme.py", "test_readme_studies.py", "test_tutorial.py",
    "test_how_to_second_part.py", "test_cluster.py",
    "test_pages.py", "test_bogo.py",
    "test_several_hosts.py", "test_hosts_come_and_go.py", "test_why.py",
    "test_recommended_configurations.py", "test_prove.py", "test_several_generators.py",
    "test_command_line.py", "test_suites.py",
    "test_kills.py", "test_benchmarks.py", "test_capacity.py", "test_tomcat.py",
    "test_studies.py", "test_runtimes.py", "test_runs.py", "test_plan.py", "test_dist.py",
    "test_coverage.py", "test_kept_pages.py",
)  # fmt: skip

# The stages of tests without the mark `stage`, by folder.
STAGE_OF_FOLDER = {
    "unit": "parts", "golden": "parts", "live": "servers", "browser": "browser",
    "packaging": "packages",
}  # fmt: skip

# The stages of these marks, which come before the folder.
STAGE_OF_MARK = {"alone": "alone", "cluster": "clusters", "simulation": "slow", "slow": "slow"}

STAGES = stages.rows()

# Hypothesis has no deadline: an example may wait for a processor, because the tests of parts run at
# low priority.
settings.register_profile("tlslab", deadline=None)
settings.load_profile("tlslab")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--stage", help="runs the tests of this stage only (tests/stages.toml)")
    parser.addoption(
        "--records", type=Path, help="adds a line to this file for each test of a capability"
    )


def shown_by(item: pytest.Item) -> str | None:
    """The capability that a test shows; None for none."""
    for mark in item.iter_markers("capability"):
        callspec = getattr(item, "callspec", None)
        only = mark.kwargs.get("only")
        if only is None or (callspec is not None and callspec.id in only):
            name: str = mark.args[0]
            return name
    return None


def stage_of(item: pytest.Item) -> str:
    """The stage of a test: one, for every test.

    A test of a capability has the stage `capabilities`, or `hosts` on a cluster.
    """
    if shown_by(item) is not None:
        return "hosts" if item.get_closest_marker("cluster") else "capabilities"
    if mark := item.get_closest_marker("stage"):
        name: str = mark.args[0]
        return name
    for kind, stage in STAGE_OF_MARK.items():
        if item.get_closest_marker(kind):
            return stage
    file = item.path.relative_to(Path(__file__).parent)
    stage = STAGE_OF_FOLDER[file.parts[0]]
    experiment = STAGES["experiments"].has_place_for(f"tests/{file}")
    return "experiments" if stage == "servers" and experiment else stage


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests of the wanted stage, the files that take longest first."""
    for item in items:
        file = f"tests/{item.path.relative_to(Path(__file__).parent)}"
        stage = STAGES.get(stage_of(item))
        if stage is None or not stage.has_place_for(file):
            raise pytest.UsageError(f"{item.nodeid}: no stage {stage_of(item)} runs this file")
    if (wanted := config.getoption("--stage")) is not None:
        others = [item for item in items if stage_of(item) != wanted]
        items[:] = [item for item in items if stage_of(item) == wanted]
        config.hook.pytest_deselected(items=others)
    for item in items:
        if (name := shown_by(item)) is not None:
            item.user_properties.append(("capability", name))
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Records the tests of capabilities that passed, with their seconds."""
    file: Path | None = config.getoption("--records")
    if file is None or hasattr(config, "workerinput"):
        return
    reports = [*terminalreporter.stats.get("", ()), *terminalreporter.stats.get("passed", ())]
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        seconds[report.nodeid] += report.duration
    with file.open("a", encoding="utf-8") as records:
        for report in (each for each in reports if each.when == "call"):
            test, properties = report.nodeid, dict(report.user_properties)
            if name := properties.get("capability"):
                records.write(f"{name}\t{test}\t{seconds[test]:.1f}\n")
            for command, took in properties.get("commands", ()):
                records.write(f"`{command}`\t{test}\t{took:.1f}\n")


@pytest.fixture(scope="session")
def full_summary() -> Summary:
    """The summary of a made-up full run of the experiment `groups`."""
    return summarise(made_run())


@pytest.fixture(scope="session")
def quick_summary() -> Summary:
    """The summary of a made-up quick run of the experiment `groups`."""
    return summarise(made_run(quick=True))
