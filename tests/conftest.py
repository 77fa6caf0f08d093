"""Fixtures and settings for all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

from factories.run import made_run
from tlslab.analysis import summarise
from tlslab.model.finding import Summary

# The files that take longest, in this order. If one of them started last, other processors would
# idle at the end.
LONGEST_FIRST = (
    "test_how_to.py", "test_documentation.py", "test_how_to_second_part.py", "test_cluster.py",
    "test_pages.py", "test_bogo.py",
    "test_several_hosts.py", "test_hosts_come_and_go.py", "test_why.py",
    "test_recommended_configurations.py", "test_prove.py", "test_several_generators.py",
    "test_command_line.py", "test_suites.py",
    "test_kills.py", "test_benchmarks.py", "test_capacity.py", "test_tomcat.py",
    "test_studies.py", "test_runtimes.py", "test_runs.py", "test_plan.py", "test_dist.py",
    "test_coverage.py", "test_kept_pages.py",
)  # fmt: skip

# Hypothesis has no deadline: an example may wait for a processor, because the tests of parts run at
# low priority.
settings.register_profile("tlslab", deadline=None)
settings.load_profile("tlslab")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stages", type=Path, help="shows the seconds of the stages in this file at the end"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The stages of .ci/run before this one; pytest's own closing line follows."""
    if (file := config.getoption("--stages")) is None:
        return
    stages = [line.split("\t", 1) for line in file.read_text("utf-8").splitlines()]
    terminalreporter.section("seconds of each stage")
    for seconds, title in stages:
        terminalreporter.write_line(f"{seconds:>6}  {title}")
    total = sum(int(seconds) for seconds, _ in stages)
    terminalreporter.write_line(f"{total:>6}  together, without the tests whose seconds follow")


@pytest.fixture(scope="session")
def full_summary() -> Summary:
    """The summary of a made-up full run of the experiment `groups`."""
    return summarise(made_run())


@pytest.fixture(scope="session")
def quick_summary() -> Summary:
    """The summary of a made-up quick run of the experiment `groups`."""
    return summarise(made_run(quick=True))
