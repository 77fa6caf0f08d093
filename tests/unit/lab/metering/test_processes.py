"""A process tree with changing members loses no processor time, and counts none twice."""

from tlslab.lab.metering.processes import ProcessReading, tree_queued, tree_used


def reading(user: int, system: int = 0, reaped: tuple[int, int] = (0, 0)) -> ProcessReading:
    """A process with its own ticks, in microseconds, and those of its ended children."""
    return ProcessReading(user + reaped[0], system + reaped[1], {}, reaped)


def test_the_first_and_the_last_reading_count() -> None:
    start = {1: reading(1_000_000), 2: reading(500_000, 200_000)}
    end = {1: reading(1_100_000), 2: reading(600_000, 250_000)}
    assert tree_used([start, start, end]) == (200_000, 50_000)


def test_a_new_process_counts_from_its_start() -> None:
    end = {1: reading(1_000_000), 7: reading(300_000, 100_000)}
    assert tree_used([{1: reading(1_000_000)}, end]) == (300_000, 100_000)


def test_a_child_that_came_and_went_is_in_its_parents_account() -> None:
    start = {1: reading(1_000_000)}
    end = {1: reading(1_000_000, reaped=(400_000, 50_000))}
    assert tree_used([start, end]) == (400_000, 50_000)


def test_the_earlier_use_of_an_ended_child_is_taken_off() -> None:
    start = {1: reading(0), 2: reading(3_000_000, 1_000_000)}
    between = {1: reading(0), 2: reading(3_200_000, 1_000_000)}
    end = {1: reading(0, reaped=(3_500_000, 1_100_000))}
    assert tree_used([start, between, end]) == (500_000, 100_000)


def test_a_child_nobody_waited_for_counts_to_its_last_reading() -> None:
    start = {1: reading(0), 2: reading(3_000_000)}
    between = {1: reading(100_000), 2: reading(3_200_000)}
    assert tree_used([start, between, {1: reading(200_000)}]) == (400_000, 0)


def test_a_tree_that_has_ended_as_a_whole_counts_to_its_last_reading() -> None:
    start = {1: reading(1_000_000)}
    assert tree_used([start, {1: reading(1_300_000)}, {}]) == (300_000, 0)


def waits(**ns: int) -> ProcessReading:
    """A process whose threads have waited for a processor for so long since their start."""
    return ProcessReading(0, 0, dict.fromkeys(ns, 0), queued_ns=ns)


def test_waits_of_threads_add_up_and_those_of_ended_ones_stay() -> None:
    start = {1: waits(a=5_000, b=7_000)}
    between = {1: waits(a=6_000, b=9_000), 2: waits(c=1_000)}
    end = {1: waits(a=9_000, d=3_000)}
    assert tree_queued([start, between, end]) == 4 + 2 + 1 + 3


def test_without_the_kernels_counts_waits_are_not_known() -> None:
    assert tree_queued([{1: reading(100_000)}, {1: reading(300_000)}]) is None
