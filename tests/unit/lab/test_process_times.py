"""A process tree with changing members loses no processor time, and counts none twice."""

from tlslab.lab.process_times import ProcessReading, tree_used


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


def test_what_an_ended_child_had_used_before_is_taken_off() -> None:
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
