"""Made-up summaries and pages of all kinds, for tests in a browser and for pictures."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from factories.benchmarks import made_contents
from factories.capacity import made_capacity_run
from factories.costs import made_calibration
from factories.data import with_data
from factories.figures import gallery
from factories.history import made_runs
from factories.policy import forbidding
from factories.proof import made_proof
from factories.run import SERVER_US, World, made_run
from factories.runtimes import made_runtimes_run
from factories.stacks import kept, sampled_run
from factories.suites import made_suites
from factories.worded import advised, overlay, summarise
from tlslab.analysis.history import history
from tlslab.analysis.overlay import Side
from tlslab.analysis.why.flames import flame
from tlslab.analysis.why.rules import load_rules
from tlslab.domain.finding import Summary
from tlslab.domain.workload import KeepAlive, Window
from tlslab.experiment import load, question
from tlslab.lab.results import recommendations, summary_of
from tlslab.report import render_history_html
from tlslab.words.history import with_loads

HISTORY = "history"

# The group with an objection on the page `objections`. It is the fastest group there.
OBJECTED = "P-384"


def _objections() -> Summary:
    """A ranking whose fastest group has an objection, and in which two groups are equal."""
    costs = {**SERVER_US, OBJECTED: 200.0, "P-256": SERVER_US["X25519"]}
    contents, by = made_run(World(server_us=costs)), forbidding(OBJECTED)
    return advised(summarise(contents), recommendations(contents, by=by), by)


def _compared() -> Summary:
    """A comparison with an earlier run, in which each group but one was slower by a quarter."""
    slower = {name: us * (1.0 if name == "X448" else 1.25) for name, us in SERVER_US.items()}
    first, second = (
        Side(name, summarise(made_run(World(server_us=costs, seed=seed))))
        for name, costs, seed in (("before", slower, 1), ("after", SERVER_US, 2))
    )
    return overlay(first, second)


def _explained() -> Summary:
    """Parts of costs by samples, with flame graphs of real servers."""
    contents = sampled_run()
    flames = tuple(flame(each, cell, load_rules()) for cell, each in kept().items())
    return replace(summarise(contents), flames=flames)


def _kept_open() -> Summary:
    """New connections, and requests on connections kept open."""
    quick = load("groups", "quick")
    workload = replace(quick.workload, keep_alive=KeepAlive(Window(100, 500), 128))
    return summary_of(made_run(experiment=replace(quick, workload=workload, blocks=10)))


def _servers(name: str, slower: Mapping[str, float]) -> Summary:
    """The quick form of an experiment with several servers; some cost `slower` times as much."""
    experiment = replace(load(name, "quick"), blocks=10)
    return summary_of(made_run(World(slower=slower), experiment=experiment))


def _quick() -> Summary:
    return summarise(made_run(quick=True))


# The question of the page `effects`.
ASKED = {"tls": ("1.2", "1.3"), "group": ("X25519", "P-256")}

# `ranking`: over four settings, with advice. `lacking`: too little data for an answer. `other`: a
# table, a text and figures of no particular kind. `figures`: all figures that are hard to draw.
# `why`: parts of costs. `suites`: the heaviest page, with objections and sizes of Diffie-Hellman.
# `servers`, `offload`: several servers, and fronts.
SUMMARIES: Mapping[str, Callable[[], Summary]] = {
    "ranking": lambda: summary_of(made_run()),
    "objections": _objections,
    "kept-open": _kept_open,
    "lacking": lambda: summary_of(made_run(quick=True)),
    "other": lambda: with_data(_quick()),
    "figures": lambda: replace(with_data(_quick()), figures=gallery()),
    "suites": made_suites,
    "servers": lambda: _servers("servers", {"apache": 1.2}),
    "offload": lambda: _servers("offload", {"haproxy": 0.95, "nginx": 1.5}),
    "capacity": lambda: summary_of(made_capacity_run()),
    "runtimes": lambda: summary_of(made_runtimes_run()),
    "costs": lambda: summary_of(made_calibration()),
    "effects": lambda: summary_of(made_run(experiment=question(ASKED, {}, ("new", "resumed")))),
    "concurrency": lambda: summary_of(made_contents()),
    "compare": _compared,
    "proof": made_proof,
    "why": _explained,
}

# The names of all pages.
PAGES = (*SUMMARIES, HISTORY)


def made_history() -> str:
    """The page of sixteen runs in which one group is slower from the ninth on."""
    runs = made_runs({"X25519": [1.0] * 8 + [1.2] * 8})
    of = {run.name: run.summary for run in runs}
    return render_history_html(with_loads(history(runs), of))
