"""Runs that are watched while they go on: by a real Prometheus, and on their page."""

import json
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from live.harness import Child, Own, Tlslab, makes_load, trials, wait_for_trials
from live.prometheus import Prometheus, prometheus
from tlslab.servers.configured import free_port

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana" / "tlslab.json"

# Time limit within which all scrapes of a test were made.
RANGE = "[10m]"


@pytest.fixture(scope="module")
def scraper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with prometheus(tmp_path_factory.mktemp("prometheus")) as started:
        yield started


def total(scraper: Prometheus, name: str, selector: str) -> float:
    """The last value of a counter before its target disappeared, over all series."""
    return scraper.value(f"sum(last_over_time(tlslab_{name}{selector}{RANGE}))")


def load(tlslab: Tlslab, own: Own, scraper: Prometheus, *arguments: str) -> dict[str, Any]:
    """A load that is scraped; its record."""
    address = f"127.0.0.1:{scraper.scraped_port}"
    trust = ["--ca", str(own.ca), "--sni", "localhost"]
    ended = tlslab.run("load", "--json", "--metrics", address, *trust, *arguments, own.url)
    assert f"metrics: http://{address}/metrics" in ended.err
    record: dict[str, Any] = json.loads(ended.out)
    return record


def of_load(record: dict[str, Any], host: str = ".*") -> str:
    """The series of a load: each test has a server of its own."""
    cell = record["address"]
    return f'{{experiment="load", run="load", cell="{cell}", host=~"{host}"}}'


def test_a_real_prometheus_has_the_accounting_of_the_record(
    tlslab: Tlslab, own_reference: Own, scraper: Prometheus
) -> None:
    record = load(tlslab, own_reference, scraper, "--rate", "150", "-c", "64", "-d", "5s")
    outcomes, own = record["outcomes"], of_load(record)
    assert total(scraper, "arrivals_total", own) == outcomes["attempts"]
    assert total(scraper, "completed_total", own) == outcomes["completed"] > 0
    assert total(scraper, "unexpected_total", own) == sum(outcomes["unexpected"].values())
    assert total(scraper, "requests_total", own) == record["requests"]
    assert total(scraper, "due_total", own) == record["open_loop"]["arrivals"]
    failed = scraper.query(f"last_over_time(tlslab_failed_total{own}{RANGE})")
    assert {labels["class"]: value for labels, value in failed} == outcomes["failed"]
    cpu = record["cpu"]["user_us"] + record["cpu"]["system_us"]
    assert total(scraper, "generator_cpu_seconds_total", own) == pytest.approx(cpu / 1e6)
    ((labels, _),) = scraper.query(f"last_over_time(tlslab_completed_total{own}{RANGE})")
    assert (labels["host"], labels["cell"]) == (socket.gethostname(), record["address"])
    histograms_agree(scraper, record, own)


def test_each_of_several_generators_has_series_of_its_own(
    tlslab: Tlslab, own_reference: Own, scraper: Prometheus
) -> None:
    arguments = ["--generators", "2", "--rate", "150", "-c", "64", "-d", "5s"]
    record = load(tlslab, own_reference, scraper, *arguments)
    assert len(record["hosts"]) == 2
    for host in record["hosts"]:
        own = of_load(record, host["name"])
        assert total(scraper, "arrivals_total", own) == host["outcomes"]["attempts"]
        assert total(scraper, "completed_total", own) == host["outcomes"]["completed"] > 0
        assert total(scraper, "due_total", own) == host["open_loop"]["arrivals"]
    histograms_agree(scraper, record, of_load(record))


def histograms_agree(scraper: Prometheus, record: dict[str, Any], own: str) -> None:
    """Their counts and sums equal those of the record, and the median lies in the same bucket."""
    names = {"handshake": "handshake", "service": "service", "response": "response"}
    for name, summary in ({**names, "request": "exchange"}).items():
        found = record["summaries"][summary]
        family = f"{name}_seconds"
        assert total(scraper, f"{family}_count", own) == found["n"], name
        mean = total(scraper, f"{family}_sum", own) / found["n"]
        assert mean == pytest.approx(found["mean_ms"] / 1000, rel=2e-3), name
        buckets = scraper.query(f"sum by (le) (last_over_time(tlslab_{family}_bucket{own}{RANGE}))")
        below = {float(labels["le"]): value for labels, value in buckets}
        p50 = found["p50_ms"] / 1000
        above = min(bound for bound in below if bound >= 1.002 * p50)
        assert below[above] >= found["n"] / 2, (name, below, p50)
        assert below[float("inf")] == found["n"]


def test_counters_of_a_run_grow_from_trial_to_trial(
    tlslab: Tlslab, small: Callable[..., str], scraper: Prometheus, tmp_path: Path
) -> None:
    address = f"127.0.0.1:{scraper.scraped_port}"
    line = ["run", small(blocks=2, measure_ms=1300), "--target", "reference", "--out", "r"]
    tlslab.run(*line, "--metrics", address)
    done = [json.loads(trial) for trial in trials(tmp_path / "r")]
    assert len(done) == 4
    runs = [(trial["cell"], kind, run) for trial in done for kind, run in trial["runs"].items()]
    for cell, kind in {(cell, kind) for cell, kind, _ in runs}:
        mine = [run["record"] for c, k, run in runs if (c, k) == (cell, kind)]
        own = f'{{experiment="small", cell="{cell}", run="{kind}"}}'
        completed = sum(record["outcomes"]["completed"] for record in mine)
        assert total(scraper, "completed_total", own) == completed, (cell, kind)
        attempts = sum(record["outcomes"]["attempts"] for record in mine)
        assert total(scraper, "arrivals_total", own) == attempts
    names = scraper.ask("/api/v1/label/__name__/values")["data"]
    growing = [name for name in names if name.endswith(("_total", "_bucket", "_count", "_sum"))]
    counted = [name for name in growing if name.startswith("tlslab_")]
    assert len(counted) > 10
    for name in counted:
        resets = scraper.query(f'resets({name}{{experiment="small"}}{RANGE}) > 0')
        assert resets == []
    assert scraper.value(f'last_over_time(tlslab_trials_done{{experiment="small"}}{RANGE})') == 4


def expressions() -> list[str]:
    """The dashboard's expressions, with Grafana's variables filled in."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    for name, value in (("__rate_interval", "10s"), ("experiment", ".*"), ("host", ".*")):
        found = [expression.replace(f"${name}", value) for expression in found]
    return found


def test_a_real_prometheus_takes_the_dashboard_and_has_what_it_asks_for(
    tlslab: Tlslab, own_reference: Own, scraper: Prometheus
) -> None:
    load(tlslab, own_reference, scraper, "--rate", "100", "-c", "32", "-d", "3s")
    names = set(scraper.ask("/api/v1/label/__name__/values")["data"])
    # A good server has no failures, and a load has no trials.
    lacking = {"tlslab_failed_total", "tlslab_trials_done", "tlslab_trials_planned"}
    for expression in expressions():
        answer = scraper.ask("/api/v1/query", query=expression)
        assert answer["status"] == "success", (expression, answer)
        asked = set(re.findall(r"\btlslab_\w+", expression))
        assert asked
        assert asked <= names | lacking, expression


def test_a_port_that_is_taken_is_one_line(tlslab: Tlslab, small: Callable[..., str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        line = ["run", small(), "--target", "reference", "--out", "r"]
        for option in ("--metrics", "--live"):
            ended = tlslab.run(*line, f"{option}={taken}")
            assert ended.code == 2
            (error,) = ended.errors
            assert error == f"error: {option} {taken}: cannot listen there: Address already in use"
    assert not (tlslab.folder / "r").exists()


def page_of(child: Child) -> str:
    """The URL of the page of a command that has just been started."""
    word = "live page: "
    assert child.stderr is not None
    return next(line for line in child.stderr if line.startswith(word)).removeprefix(word).strip()


def updates_of(url: str) -> list[dict[str, Any]]:
    """All events of a page until the run has ended."""
    with urllib.request.urlopen(f"{url}events", timeout=60) as stream:
        data = [line.removeprefix(b"data: ") for line in stream if line.startswith(b"data: {")]
    return [json.loads(line) for line in data]


def test_the_page_shows_a_load_and_how_it_ended(tlslab: Tlslab, own_reference: Own) -> None:
    trust = ["--ca", str(own_reference.ca), "--sni", "localhost"]
    child = tlslab.start(
        "load", "--live", "-d", "3s", "--rate", "200", "-c", "4", *trust, own_reference.url
    )
    url = page_of(child)
    updates = updates_of(url)
    ended = tlslab.finish(child)
    running = [update for update in updates if update["hosts"]]
    assert running, updates
    assert running[-1]["hosts"][0]["name"] == socket.gethostname()
    assert running[-1]["point"]["generator"] > 0
    assert running[-1]["point"]["server"] is not None
    assert updates[-1]["ended"]["words"] in ended.err.splitlines()[-1]
    assert updates[-1]["completed"] >= running[-1]["completed"] > 0
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(url, timeout=5)


def warming_up(tlslab: Tlslab) -> list[psutil.Process]:
    """Two generators that are beyond the barrier."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        running = tlslab.engines()
        if len(running) == 2 and all(map(makes_load, running)):
            return running
        time.sleep(0.02)
    raise AssertionError("never two generators that make load")


def test_a_generator_that_is_lost_before_its_first_report_is_shown_and_scraped(
    tlslab: Tlslab, own_reference: Own, scraper: Prometheus
) -> None:
    watched = ["--live", "--metrics", f"127.0.0.1:{scraper.scraped_port}"]
    line = ["load", "--generators", "2", "--on-lost-host", "keep", "--json", *watched]
    # Generators report their measurement once it lasts a second.
    times = ["--warmup", "6s", "-d", "3s"]
    child = tlslab.start(*line, *times, "--rate", "400", "-c", "8", "--insecure", own_reference.url)
    url = page_of(child)
    warming_up(tlslab)[1].kill()
    updates = updates_of(url)
    ended = tlslab.finish(child)
    assert ended.code == 1, ended.err
    reason = "its engine was ended by SIGKILL"
    assert f"warning: the generator local-2 was lost: {reason}" in ended.err.splitlines()
    assert updates[-1]["lost"] == [{"host": "local-2", "reason": reason}]
    assert {host["name"] for now in updates for host in now["hosts"]} == {"local-1"}
    record = json.loads(ended.out)
    (gone,) = (host for host in record["hosts"] if host["lost"])
    assert (gone["name"], gone["outcomes"]["attempts"]) == ("local-2", 0)
    own = of_load(record)
    scraped = scraper.query(f"last_over_time(tlslab_completed_total{own}{RANGE})")
    kept = record["outcomes"]["completed"]
    assert [(labels["host"], value) for labels, value in scraped] == [("local-1", kept)]
    lost = 'last_over_time(tlslab_host_lost{experiment="load", host="%s"}[10m])'
    assert [scraper.value(lost % name) for name in ("local-1", "local-2")] == [0, 1]


def samples(text: str, name: str) -> dict[tuple[str, str], float]:
    """The samples of a metric by cell and kind of run, over all hosts."""
    found: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name:
                labels = sample.labels
                assert labels["experiment"] == "prove"
                key = (labels.get("cell", ""), labels.get("run", ""))
                found[key] = found.get(key, 0.0) + sample.value
    return found


def test_a_proof_is_scraped_and_seen_while_it_goes_on(tlslab: Tlslab, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "own.conf").write_text("ssl_protocols TLSv1.3;", "utf-8")
    line = ["prove", "--for", "nginx", "--baseline", "own.conf", "--candidate", "own.conf"]
    watched = ["--metrics", address, "--live", "--out", "r"]
    child = tlslab.start(*line, *watched, TLSLAB_SHORT_RUNS="1")
    assert child.stderr is not None
    said = [child.stderr.readline()]
    while not said[-1].startswith("live page: "):
        assert said[-1], said
        said.append(child.stderr.readline())
    assert f"metrics: http://{address}/metrics\n" in said
    wait_for_trials(tmp_path / "r", 2)
    first = json.loads(trials(tmp_path / "r")[0])
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        scraped = answer.read().decode()
    with urllib.request.urlopen(f"{said[-1].split()[-1]}events", timeout=60) as stream:
        now = next(line for line in stream if line.startswith(b"data: {"))
    child.send_signal(signal.SIGINT)
    ended = tlslab.finish(child)
    assert ended.code == 130, ended.err
    plan = json.loads((tmp_path / "r" / "plan.json").read_text("utf-8"))
    completed = samples(scraped, "tlslab_completed_total")
    of_first = {kind: run["record"]["outcomes"]["completed"] for kind, run in first["runs"].items()}
    assert sum(of_first.values()) > 0
    assert all(completed[first["cell"], kind] >= count for kind, count in of_first.items())
    ((_, planned),) = samples(scraped, "tlslab_trials_planned").items()
    assert planned == len(plan["trials"])
    ((_, done),) = samples(scraped, "tlslab_trials_done").items()
    assert done >= 1
    page = json.loads(now.removeprefix(b"data: "))
    assert page["completed"] >= sum(completed.values())
