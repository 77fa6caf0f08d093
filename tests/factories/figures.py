"""A gallery of made-up figures: each kind, with names, numbers and gaps that are hard to draw."""

import random
from dataclasses import replace

from factories.data import made_figures
from tlslab.domain.figure import Figure, Mark, Series

LONG = "DHE-RSA-AES128-GCM-SHA256, RSA-2048, HTTP/2"
HOSTILE = "</title><script>alert(1)</script>\x1b[31m\u202e\ufffe\" onload='x' & <b>"
OBJECTION = "Mozilla's intermediate guideline does not allow it"


def gallery() -> tuple[Figure, ...]:
    """All figures, with distinct ids."""
    return (*made_figures(), *rankings(), *bar_charts(), *line_charts(), *area_charts())


def suites(count: int, seed: int = 1, decades: float = 0.0) -> Series:
    """A ranked series of long names with intervals, trials, two lower bounds, some objections."""
    dice = random.Random(seed)
    keys = ("RSA-2048", "ECDSA P-256", "RSA-4096")
    heads = ("ECDHE-ECDSA-AES128-GCM-SHA256", "DHE-RSA-AES256-CCM8", "TLS_AES_128_GCM_SHA256")
    names = [f"{heads[n % 3]}, {keys[n // 3 % 3]}, HTTP/{1 + n // 9}" for n in range(count)]
    values = [4200.0 * 0.965**n * 10 ** (-decades * n / max(1, count)) for n in range(count)]
    bounds = tuple(n in (0, 2) for n in range(count))
    trials = tuple(tuple(v * dice.gauss(1, 0.02) for _ in range(10)) for v in values)
    return Series(
        "connections/s",
        tuple(names),
        tuple(values),
        tuple(None if bound else v * 0.985 for v, bound in zip(values, bounds, strict=True)),
        tuple(None if bound else v * 1.015 for v, bound in zip(values, bounds, strict=True)),
        samples=trials,
        bounds=bounds,
        objections=tuple(OBJECTION if n % 5 == 1 else "" for n in range(count)),
    )


def ranking(id_: str, *series: Series, log: bool = False) -> Figure:
    return Figure(
        id_, f"Ranking: {id_}", "New connections per second, best first", "ranking",
        "suite, key, protocol", "new connections/s", series, y_log=log,
    )  # fmt: skip


def rankings() -> tuple[Figure, ...]:
    one = Series("rate", (LONG,), (3412.0,), (3390.0,), (3440.0,))
    flat = Series("rate", ("a", "b"), (100.0, 100.0), (100.0, 100.0), (100.0, 100.0))
    tiny = Series("rate", ("first", "second"), (1e-7, 1.0000001e-7), (9.9e-8, 1e-7), (1.1e-7,) * 2)
    below = Series("change", ("better", "none", "worse"), (12.0, 0.0, -7.5), (9.0, -1.0, -9.0),
                   (15.0, 1.0, -6.0))  # fmt: skip
    gone = Series("rate", ("measured", "failed"), (9.0, None), (8.0, None), (10.0, None))
    pair = (
        Series("server", ("X25519", "P-256", "X25519MLKEM768"), (210.0, 230.0, 290.0)),
        Series("client", ("X25519", "P-256", "X25519MLKEM768"), (160.0, 170.0, 260.0)),
    )
    hostile = Series(
        HOSTILE, (HOSTILE, "W" * 90, "漢字の名前" * 9), (3.0, 2.0, 1.0),
        objections=(HOSTILE, "", ""), samples=((3.0, float("nan")), (), ()),
    )  # fmt: skip
    return (
        ranking("suites", suites(30)),
        ranking("suites-few", suites(6)),
        ranking("wide-range", suites(8, decades=4), log=True),
        ranking("one", one),
        ranking("none"),
        ranking("flat", flat),
        ranking("tiny", tiny),
        ranking("negative", below),
        ranking("gone", gone),
        ranking("pair", *pair),
        ranking("hostile", hostile),
        replace(
            ranking("limits", suites(6)),
            marks=(Mark(4500.0, "the highest rate of the client"), Mark(3700.0, "baseline")),
        ),
    )


def bar_charts() -> tuple[Figure, ...]:
    names = ("nginx", "Apache", "Caddy", LONG)
    eight = tuple(
        Series(f"part {n + 1}", names, tuple(10.0 + n * 2 + k for k in range(4))) for n in range(8)
    )
    some = Series("a", ("x", "y"), (5.0, -3.0), (4.0, -4.0), (6.0, -2.0), bounds=(False, True),
                  objections=("", OBJECTION), samples=((4.5, 5.5), (-3.5, -2.0)))  # fmt: skip
    costs = (
        Series("server, user", names, (310.0, 290.0, 510.0, 1020.0)),
        Series("server, system", names, (95.0, 120.0, 140.0, 101.0), (90.0, 110.0, 130.0, 90.0),
               (100.0, 130.0, 150.0, 115.0)),
    )  # fmt: skip
    rates = Series("rate", (1.0, 2.0, 4.0, 8.0), (900.0, 1700.0, 3100.0, 5400.0),
                   (850.0, 1600.0, 2900.0, 5000.0), (950.0, 1800.0, 3300.0, 5800.0))  # fmt: skip
    bars = Figure("eight", "Eight series", "", "bars", "server", "µs", eight)
    one = Series("only", ("x",), (1e12,), (0.9e12,), (1.1e12,))
    return (
        bars,
        replace(bars, id="eight-stacked", kind="stacked_bars"),
        Figure("costs", "Processor time", "", "stacked_bars", "server", "µs per connection", costs),
        Figure("mixed", "Signs", "", "bars", "", "change, %", (some,)),
        Figure("standing", "Processors", "", "bars", "processors", "connections/s",
               (rates, replace(rates, name="other")), marks=(Mark(4.0, "physical cores"),)),
        Figure("standing-stack", "Processors", "", "stacked_bars", "processors", "connections/s",
               (rates, replace(rates, name="other"))),
        Figure("bar-one", "One bar", "", "bars", "server", "1/s", (one,)),
        Figure("bar-none", "No bar", "", "bars", "server", "1/s", ()),
    )  # fmt: skip


def line_charts() -> tuple[Figure, ...]:
    load = tuple(float(n) for n in (100, 500, 1000, 1500, 2000, 2500, 3000, 3300))
    achieved = (100.0, 500.0, 1000.0, 1498.0, 1990.0, 2410.0, 2600.0, 2590.0)
    p99 = (1.1, 1.2, 1.4, 1.9, 3.5, 22.0, 480.0, 2900.0)
    many = tuple(
        Series(f"{name}: p99", load, tuple(t * (n + 1) for t in p99),
               tuple(t * (n + 1) * 0.8 for t in p99), tuple(t * (n + 1) * 1.3 for t in p99))
        for n, name in enumerate(("nginx", "Apache", "Caddy", LONG))
    )  # fmt: skip
    walks = []
    for n in range(8):
        dice, y, ys = random.Random(n), 100.0 + 20 * n, []
        for _ in range(80):
            y += dice.gauss(0, 4)
            ys.append(y)
        walks.append(Series(f"series {n + 1}", tuple(float(k) for k in range(80)), tuple(ys)))
    marks = (Mark(2000.0, "capacity of nginx: 1,990 connections/s"), Mark(2100.0, "knee"),
             Mark(2200.0, "the highest load that meets the objective of 50 ms"),
             Mark(3300.0, "maximum of the closed loop"))  # fmt: skip
    trial = Series("trials", (1.0, 1.0, 2.0, 2.0, 3.0), (4.0, 5.0, 6.0, None, 9.0),
                   samples=((3.8, 4.2), (5.0,), (), (), (8.0, 10.0)),
                   bounds=(False, False, False, False, True),
                   objections=("", OBJECTION, "", "", ""))  # fmt: skip
    names = Series("median", (LONG, "b", "c, HTTP/2"), (1.0, 2.0, None), (0.5, 1.0, None),
                   (1.5, 3.0, None))  # fmt: skip
    vast = Series("vast", (1e-9, 1.0, 1e9), (1e-12, 1.0, 1e15), (1e-13, 0.5, 1e14),
                  (1e-11, 2.0, 1e16))  # fmt: skip
    axes = Figure(
        "load", "Achieved rate and p99 against the offered load", "two axes", "line",
        "offered load, connections/s", "achieved rate, connections/s",
        (Series("nginx", load, achieved), Series("nginx", load, p99, axis=2, dashed=True),
         Series("achieved = offered", (0.0, 3300.0), (0.0, 3300.0), dashed=True)),
        y2_title="99th percentile of the response time, ms", marks=marks,
    )  # fmt: skip
    runs = (
        Series("p50", (100.0, 100.0, 900.0), (1.0, 1.1, 1.9)),
        Series("p50", (500.0, 510.0), (1.4, 1.2), hollow="generator late, or run invalid"),
        Series("p99", (500.0,), (3.4,), hollow="generator late, or run invalid"),
    )
    overload = (Mark(400.0, "2 processors: overload (misses p99<50ms)", onward=True),
                Mark(800.0, "1 processor: overload (not carried)", onward=True))  # fmt: skip
    return (
        axes,
        Figure("runs", "A point for each run", "", "points", "offered load, connections/s",
               "response time, ms", runs, y_log=True, marks=overload),
        Figure("responses", "Response times", "", "line", "offered load, connections/s",
               "response time, ms", many, y_log=True, marks=marks[:2]),
        Figure("walks", "Eight series of many points", "", "line", "s", "connections/s",
               tuple(walks)),
        Figure("trials", "Trials", "", "points", "processors", "ms", (trial,)),
        Figure("names", "Names", "", "line", "setting", "ms", (names,)),
        Figure("vast", "Vast", "", "line", "size", "value", (vast,), x_log=True, y_log=True),
        Figure("vast-linear", "Vast", "", "points", "size", "value", (vast,)),
        Figure("negative-line", "Below zero", "", "line", "block", "change, %",
               (Series("change", (1.0, 2.0, 3.0), (-5.0, 2.0, -1.0)),)),
        Figure("not-on-log", "Nothing above zero", "", "line", "x", "y",
               (Series("none", (0.0, -1.0), (0.0, -2.0)),), x_log=True, y_log=True),
        Figure("line-one", "One point", "", "line", "x", "y", (Series("one", (5.0,), (7.0,)),)),
        Figure("line-none", "No point", "", "line", "x", "y", ()),
        Figure("hostile-line", HOSTILE, HOSTILE, "line", HOSTILE, HOSTILE,
               (Series(HOSTILE, (1.0, 2.0), (float("nan"), float("inf"))),),
               marks=(Mark(1.0, HOSTILE), Mark(float("nan"), "never"))),
    )  # fmt: skip


def area_charts() -> tuple[Figure, ...]:
    at = tuple(n / 4 for n in range(1, 41))
    dice = random.Random(5)
    user = tuple(0.62 + dice.uniform(-0.06, 0.06) for _ in at)
    system = tuple(0.25 + dice.uniform(-0.05, 0.05) for _ in at)
    use = (Series("user", at, user), Series("system", at, system))
    return (
        Figure("use", "Processor use of the server", "", "areas", "s", "share of one processor",
               use),
        Figure("use-none", "No use", "", "areas", "s", "share", ()),
        Figure("use-one", "One slice", "", "areas", "s", "share",
               (Series("user", (1.0,), (0.5,)),)),
    )  # fmt: skip
