"""`tlslab run` with generators on other hosts: namespaces, each a node of a Ray cluster."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live.accounts import assert_accounts
from live.driven import assert_start_together, loaded
from live.harness import read_trials
from live.hosts import Hosts, NamespaceHost, cluster, lacking
from live.lab_on_cluster import Lab, address, assert_nothing_of_the_lab, served, until
from tlslab.analysis.validity import SERVER_LOADED
from tlslab.experiment.short import VARIABLE
from tlslab.servers.programs import require_program

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]

Small = Callable[..., str]

# The cost of a connection for the slow generator, over that for the server. Alone this generator
# makes 0.7 of the server's maximum; half of the server's maximum keeps the generator busy for 0.7
# of its time.
SLOWER = 1.4

# With this key the server's signature is almost all of the cost of a handshake in memory.
DEAR_KEY = "rsa-4096"

LIMITED = f"""\
schema = "tlslab.experiment/2"
kind = "capacity"
name = "limited"
title = "Who is the limit?"
blocks = 1

[factors]
processors = [1]
tls = ["1.3"]
key = ["{DEAR_KEY}"]
group = ["X25519"]

[baseline]
processors = "1"

[workload]
document_bytes = 100
connections = 16
requests_per_connection = 1

[capacity.search]
first = 8
most = 16
step = 0.5
repeats = 1
warmup_ms = 200
measure_ms = 1000

[capacity.maximum]
trials = 2
warmup_ms = 200
measure_ms = 1000

[capacity.open_loop]
fractions = [0.3]
trials = 1
connections = 50
warmup_ms = 200
measure_ms = 1000
"""

# An address of the head that the guard considers public (RFC 5737).
PUBLIC = "198.51.100.7"
TOKEN = "0123456789abcdef"

# Makes nginx agree to be loaded.
AGREES = """\
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    server {{
        listen {address}:4434 ssl;
        ssl_certificate {folder}/own.pem;
        ssl_certificate_key {folder}/own.key;
        location = / {{ return 200 "x"; }}
        location = /.well-known/tlslab-{token} {{ return 200 "x"; }}
    }}
}}
"""


@dataclass(frozen=True)
class Calm:
    """A cluster for tests that harm no node; the file `slow` slows the generator g1 down."""

    lab: Lab
    hosts: Hosts
    head: NamespaceHost
    g1: NamespaceHost
    g2: NamespaceHost
    slow: Path


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calm]:
    folder = tmp_path_factory.mktemp("calm")
    library, slow = folder / "generator.so", folder / "slow"
    source = Path(__file__).with_name("generator.c")
    build = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
    subprocess.run(build, check=True, timeout=60)
    with cluster(folder, []) as (hosts, (head,)):
        g1, g2 = hosts.add("g1"), hosts.add("g2")
        g1.start_ray(head.address, LD_PRELOAD=str(library), TLSLAB_TEST_SLOW=str(slow))
        g2.start_ray(head.address, LD_PRELOAD=str(library))
        yield Calm(Lab(head), hosts, head, g1, g2, slow)


@pytest.mark.timeout(400)
def test_a_capacity_study_by_two_hosts_names_them_and_what_is_known_of_their_clocks(
    calm: Calm, tmp_path: Path
) -> None:
    lab, head = calm.lab, calm.head
    wanted = ["run", "capacity", "--quick", "--target", "nginx", "--set", "processors=1"]
    code, _, err = lab.run(*wanted, "--generators", "2")
    assert code == 2
    assert "error: --generators 2: other hosts cannot reach a server on loopback" in err
    assert head.address in err
    place = ["--listen", head.address, "--out", str(tmp_path / "r")]
    code, _, err = lab.run(*wanted, "--generators", "2", *place, **{VARIABLE: "1"})
    assert code in (0, 1), err
    code, out, err = lab.run("report", str(tmp_path / "r"), "--details")
    assert code == 0, err
    assert "  g1: " in out
    assert "  g2: " in out
    assert "clock known to" in out
    runs = [run for trial in read_trials(tmp_path / "r") for run in trial["runs"].values()]
    for run in runs:
        hosts = {each["name"]: each for each in run["record"]["hosts"]}
        assert set(hosts) == {"g1", "g2"}
        assert run["record"]["address"].startswith(f"{head.address}:")
    page = (tmp_path / "r" / "report.html").read_text()
    assert "g1" in page
    assert "clock known to" in page
    for host in (calm.g1, calm.g2):
        assert_nothing_of_the_lab(host)


@pytest.mark.alone
def test_two_hosts_start_at_one_instant(calm: Calm) -> None:
    with loaded(calm.head, 300) as spec:
        assert_start_together(calm.head, spec)


@pytest.fixture
def slow(calm: Calm) -> Iterator[None]:
    """The generator g1 is slower than the server of LIMITED."""
    line = ["in-memory", "--json", "-d", "500ms", "--backend", "openssl"]
    program = require_program("tlslab-load")
    done = subprocess.run(
        [program, *line, "--certificate", DEAR_KEY], capture_output=True, check=True, timeout=60
    )
    both_us = json.loads(done.stdout)["handshakes"]["cpu_us"]
    calm.slow.write_text(str(int(SLOWER * both_us * 1000)))
    yield
    calm.slow.unlink()


def preferred() -> list[str]:
    """Starts a command on two processors, of which other programs leave it almost everything.

    One is for the server, one for the generators. Where the kernel shares processors among sessions
    (autogroup), niceness is among the processes of one session: this one gets a session of its own.
    """
    two = ",".join(str(each) for each in sorted(os.sched_getaffinity(0))[:2])
    favour = '! [ -e /proc/self/autogroup ] || echo -20 >/proc/self/autogroup; exec "$@"'
    session = ["setsid", "--wait", "setpriv", "--pdeathsig", "KILL", "sh", "-c", favour, "sh"]
    return [*session, "nice", "-n", "-20", "taskset", "--cpu-list", two]


def limited_run(calm: Calm, folder: Path) -> None:
    """Runs LIMITED into a new folder."""
    folder.mkdir()
    file = folder / "limited.toml"
    file.write_text(LIMITED, "utf-8")
    place = ["--listen", calm.head.address, "--out", str(folder / "r")]
    wanted = ["run", str(file), "--target", "reference", "--generators", address(calm.head)]
    code, _, err = calm.lab.finish(calm.lab.start(*wanted, *place, prefix=preferred()))
    assert code in (0, 1), err
    assert {trial["status"] for trial in read_trials(folder / "r")} == {"done"}, err


def taken_by(folder: Path) -> list[str]:
    """The number of generators at each step of a run's search."""
    searches = [
        t["factors"] for t in read_trials(folder / "r") if t["factors"]["stage"] == "search"
    ]
    return [str(factors["generators"]) for factors in searches]


@pytest.mark.alone
@pytest.mark.usefixtures("slow")
@pytest.mark.timeout(400)
def test_a_search_takes_a_second_generator_where_the_first_was_the_limit(
    calm: Calm, tmp_path: Path
) -> None:
    # Again, up to three times: other programs on a generator's processor keep it from its limit.
    for number in range(4):
        folder = tmp_path / str(number)
        limited_run(calm, folder)
        if "2" in taken_by(folder):
            break
    taken = taken_by(folder)
    assert taken == sorted(taken)
    assert set(taken) == {"1", "2"}
    made = read_trials(folder / "r")
    searches = [trial for trial in made if trial["factors"]["stage"] == "search"]
    alone = searches[taken.index("2") - 1]["runs"]["search"]["record"]
    assert [host["name"] for host in alone["hosts"]] == ["g1"]
    assert "client_saturated" in codes(alone)
    for trial in made:
        if trial["factors"]["stage"] == "maximum":
            record = trial["runs"]["maximum"]["record"]
            assert [host["name"] for host in record["hosts"]] == ["g1", "g2"]
            assert "client_saturated" not in codes(record)
    # Other programs on the server's processor may be the limit in its place.
    servers = [t["runs"]["maximum"]["server"] for t in made if t["factors"]["stage"] == "maximum"]
    used = [(each["user_us"] + each["system_us"]) / (1e6 * each["seconds"]) for each in servers]
    server = "the server was the limit"
    if min(used) < SERVER_LOADED:
        server += r"|neither they \(\d+ % busy\) nor the server"
    words = re.compile(f"2 generators made the load of the maximum; ({server})")
    assert words.search(
        calm.lab.finish(calm.lab.start("report", str(folder / "r"), "--details"))[1]
    )
    assert words.search((folder / "r" / "report.html").read_text("utf-8"))


def codes(record: dict[str, Any]) -> set[str]:
    """The codes of a record's verdicts."""
    return {verdict["code"] for verdict in record["verdicts"]}


LOAD = ["load", "--generators", "2", "--json", "--insecure", "-d", "1s"]


def made_by(out: str) -> set[str]:
    """The hosts of a record."""
    record = json.loads(out)
    assert_accounts(record)
    return {host["name"] for host in record["hosts"]}


def test_each_host_holds_the_address_that_it_finds_against_the_allow_list(
    calm: Calm, tmp_path: Path
) -> None:
    lab, head = calm.lab, calm.head
    names = {host.name: tmp_path / host.name for host in (calm.g1, calm.g2)}
    for host in (calm.g1, calm.g2):
        names[host.name].write_text(f"{head.address} web.test\n")
        host.shows(names[host.name], "/etc/hosts")
    with served(head) as place:
        load = [*LOAD, "-c", "4", f"https://web.test:{place.rpartition(':')[2]}/"]
        lab.allow("10.0.0.1")
        code, out, err = lab.run(*load)
        assert (code, out) == (3, "")
        refused = [line for line in err.splitlines() if line.startswith("error: ")]
        assert len(refused) == 1
        assert refused[0].startswith(
            tuple(f"error: {name}: refused to load web.test ({head.address})" for name in names)
        )
        lab.allow("10.0.0.1", head.address)
        code, out, err = lab.run(*load)
        assert code in (0, 1), err
        assert made_by(out) == {"g1", "g2"}
        # On that host the name belongs to another machine.
        names["g2"].write_text("10.77.0.99 web.test\n")
        code, out, err = lab.run(*load)
        assert (code, out) == (3, "")
        assert "error: g2: refused to load web.test (10.77.0.99)" in err
    for host in (calm.g1, calm.g2):
        host.unmount("/etc/hosts")
        assert_nothing_of_the_lab(host)


@pytest.fixture
def public(calm: Calm, tmp_path: Path) -> Iterator[str]:
    """The URL of a server with a public address that g1 reaches, and whose operator agrees."""
    lines = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    files = ["-subj", "/CN=own", "-keyout", "own.key", "-out", "own.pem"]
    subprocess.run(
        ["openssl", *lines, *files], cwd=tmp_path, check=True, capture_output=True, timeout=60
    )
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(AGREES.format(folder=tmp_path, address=PUBLIC, token=TOKEN), "utf-8")
    calm.head.ip("address", "add", f"{PUBLIC}/32", "dev", "eth0")
    calm.g1.ip("route", "add", PUBLIC, "dev", "eth0")
    nginx = ["nginx", "-c", str(configuration), "-e", str(tmp_path / "error.log")]
    started = calm.head.start(*nginx)
    assert started.wait(60) == 0, calm.head.said(started)
    yield f"https://{PUBLIC}:4434/"
    calm.head.start(*nginx, "-s", "stop").wait(60)
    calm.g1.ip("route", "delete", PUBLIC, "dev", "eth0")
    calm.head.ip("address", "delete", f"{PUBLIC}/32", "dev", "eth0")


def test_each_host_asks_by_itself_whether_a_public_server_s_operator_agrees(
    calm: Calm, public: str
) -> None:
    lab, g2 = calm.lab, calm.g2
    load = [*LOAD, "--rate", "1100", "-c", "64", "--allow", PUBLIC]
    beyond = f"refused to load the public address {PUBLIC} beyond 1,000 connections/s"
    # g2 has no route to the page of consent.
    code, out, err = lab.run(*load, "--proof", TOKEN, public)
    assert (code, out) == (3, "")
    assert f"error: g2: {beyond}" in err
    g2.ip("route", "add", PUBLIC, "dev", "eth0")
    code, out, err = lab.run(*load, "--proof", TOKEN, public)
    assert code in (0, 1), err
    assert made_by(out) == {"g1", "g2"}
    code, out, err = lab.run(*load, public)
    assert (code, out) == (3, "")
    assert beyond in err
    g2.ip("route", "delete", PUBLIC, "dev", "eth0")


@pytest.fixture
def web(calm: Calm) -> Iterator[tuple[NamespaceHost, str]]:
    """A host that is no node of the cluster, and the URL of an exporter on it."""
    host = calm.hosts.add("web")
    line = [sys.executable, "-m", "live.exporters", host.address, "9100", "tlslab-serve"]
    exporter = host.start(*line)
    until(lambda: "http://" in host.said(exporter))
    yield host, host.said(exporter).strip()
    host.die()


def test_the_server_of_another_host_is_metered_by_the_exporter_there(
    calm: Calm, web: tuple[NamespaceHost, str], small: Small, tmp_path: Path
) -> None:
    host, metrics = web
    file = str(tmp_path / small(blocks=1, measure_ms=2_000))
    place = ["--allow", host.address, "--insecure", "--out", str(tmp_path / "r")]
    with served(host) as server:
        wanted = ["run", file, "--target", f"https://{server}/bytes/100", *place]
        code, _, err = calm.lab.run(*wanted, "--server-metrics", metrics, "--generators", "2")
    assert code in (0, 1), err
    for trial in read_trials(tmp_path / "r"):
        run = trial["runs"]["capacity"]
        assert {each["name"] for each in run["record"]["hosts"]} == {"g1", "g2"}
        assert run["record"]["address"] == server
        assert (run["side"]["used"], run["side"]["processors_by"]) == ("node_exporter",) * 2
        assert "on another host" in run["side"]["missing"]["process_tree"]
        assert run["server"]["user_us"] + run["server"]["system_us"] > 0
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    for cell in summary["cells"]:
        assert cell["estimates"]["server_cpu_us_per_connection"]["value"] > 0
    for generator in (calm.g1, calm.g2):
        assert_nothing_of_the_lab(generator)
