"""Two scrapes give the work between them, minus the idle machine's, within the stated error."""

import math
import random
from dataclasses import replace

import pytest

from tlslab.lab.metering.exporter import IDLE_LIMIT, Window, above_idle, busy_share
from tlslab.lab.metering.scrape import (
    MACHINE,
    Answer,
    Counters,
    ScrapeError,
    is_this_machine,
    parse,
)

PROCESSORS = ("0", "1")


def counters(at: float, took: float = 0.0, **seconds: float) -> Counters:
    """Counters of two equal processors; `seconds` is each one's time by mode."""
    machine = {(name, mode): seconds.get(mode, 0.0) for name in PROCESSORS for mode in
               ("user", "system", "softirq", "steal", "idle")}  # fmt: skip
    return Counters(machine, {}, at, at + took)


IDLE = Window(counters(0.0, idle=0.0), counters(1.0, user=0.01, system=0.01, idle=0.98))


def test_the_idle_machines_work_is_taken_off() -> None:
    loaded = Window(
        counters(1.0), counters(11.0, user=4.1, system=2.0, softirq=1.1, steal=0.5, idle=2.3)
    )
    found = above_idle(loaded, IDLE)
    assert (found.user_us, found.system_us) == (8_000_000, 6_000_000)
    assert found.seconds == 10.0
    assert busy_share(IDLE) == pytest.approx(0.04)
    # Six counters that changed in the window, four in a tenth of its time before.
    assert found.error_us == math.ceil(1.96e6 * 0.01 * math.sqrt((6 + 4 * 100) / 6))
    each = loaded.processors[1]
    assert (each.processor, each.softirq_us, each.steal_us) == ("1", 1_100_000, 500_000)


def test_slow_answers_widen_the_error() -> None:
    end = counters(11.0, user=5.0, idle=5.0)
    prompt = above_idle(Window(counters(1.0), end), IDLE)
    late = above_idle(Window(counters(1.0), replace(end, received=11.5)), IDLE)
    rate = late.total_us / late.seconds
    assert late.error_us - prompt.error_us == pytest.approx(0.5 * rate, abs=3)
    assert late.bias_us == pytest.approx(late.error_us - prompt.error_us, abs=3)
    assert prompt.bias_us == 0
    assert (late.seconds, late.total_us) == (prompt.seconds, prompt.total_us)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (counters(11.0, user=-0.01), "a counter went back"),
        (counters(11.0, user=50.0), "2 processors cannot compute 100 s in 10 s"),
        (Counters({("7", "user"): 1.0}, {}, 11.0, 11.0), "its processors are others"),
    ],
)
def test_counters_that_cannot_be_are_refused(end: Counters, words: str) -> None:
    with pytest.raises(ScrapeError, match=words):
        Window(counters(1.0), end)


def test_idle_time_may_go_back_as_the_kernel_corrects_it() -> None:
    assert above_idle(Window(counters(1.0, idle=9.0), counters(11.0, user=5.0, idle=8.9)), IDLE)


def test_a_machine_that_was_busy_before_or_is_no_busier_now_gives_nothing() -> None:
    busy = Window(counters(0.0), counters(1.0, user=2 * IDLE_LIMIT))
    with pytest.raises(ScrapeError, match="more than 20 % busy before the load"):
        above_idle(Window(counters(1.0), counters(11.0, user=9.0)), busy)
    with pytest.raises(ScrapeError, match="no busier under load"):
        above_idle(Window(counters(1.0), counters(11.0, user=0.1, system=0.1)), IDLE)


def test_the_stated_error_holds_in_95_of_100_windows() -> None:
    """Counters that are truncated to 10 ms, and answers whose instant is not known."""
    rng = random.Random(7)
    runs, held = 2000, 0
    for _ in range(runs):
        phases = {key: rng.random() for key in counters(0.0).machine}
        rates = {key: rng.uniform(0.05, 0.4) for key in phases if key[1] in ("user", "system")}

        def scrape(
            sent: float,
            loaded: float,
            over: float,
            idle: float,
            phases: dict[tuple[str, str], float] = phases,
            rates: dict[tuple[str, str], float] = rates,
        ) -> Counters:
            took = rng.uniform(0.002, 0.04)
            instant = sent + rng.random() * took
            work = max(0.0, min(instant, over) - loaded)
            machine = {
                key: math.floor(
                    100 * (phase + rates.get(key, 0.0) * (work + idle * min(instant, loaded)))
                )
                / 100
                for key, phase in phases.items()
            }
            return Counters(machine, {}, sent, sent + took)

        idle_share = 0.05
        idle = Window(scrape(0.0, 9.0, 9.0, idle_share), scrape(1.0, 9.0, 9.0, idle_share))
        loaded = Window(scrape(1.2, 1.1, 6.2, idle_share), scrape(6.2, 1.1, 6.2, idle_share))
        found = above_idle(loaded, idle)
        # The idle machine's work continues under load, and is part of the count.
        truth = sum(rates.values()) * (1 - idle_share)
        rate, error = found.total_us / found.seconds / 1e6, found.error_us / found.seconds / 1e6
        held += abs(rate - truth) <= error
    assert held >= 0.95 * runs


def test_a_window_has_the_groups_of_processes_that_an_exporter_names() -> None:
    text = "".join(
        f'namedprocess_namegroup_cpu_seconds_total{{groupname="{name}",mode="{mode}"}} {value}\n'
        for name, value in (("nginx", 3.5), ("gone", 1.0))
        for mode in ("user", "system")
    ) + "".join(f'{MACHINE}{{cpu="0",mode="{mode}"}} 1\n' for mode in ("user", "system", "idle"))
    start = parse(Answer(text, 0.0, 0.0))
    end = parse(Answer(text.replace("3.5", "4.0").replace("1.0", "0.5"), 1.0, 1.0))
    assert [(g.name, g.user_us) for g in Window(start, end).groups] == [("nginx", 500_000)]


def test_counters_of_another_machine_are_not_taken_for_this_ones() -> None:
    assert not is_this_machine(counters(0.0))
