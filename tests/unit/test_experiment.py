"""Experiment files: reading, and the report of faults."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlslab.domain.errors import ExperimentError, UsageError
from tlslab.domain.experiment import Exclusion, Experiment, Factor, Pin
from tlslab.domain.factors import COMMON, RESUMPTIONS
from tlslab.domain.stopping import Stopping
from tlslab.domain.workload import KeepAlive, Window, Workload
from tlslab.experiment import dumps, load, loads, shipped, with_levels

GOOD = """\
schema = "tlslab.experiment/2"
name = "small"
title = "A small one"
blocks = 2

[factors]
tls = ["1.3"]
group = ["X25519", "P-256"]

[baseline]
group = "X25519"

[workload]
document_bytes = 10
connections = 4
requests_per_connection = 1

[workload.capacity]
warmup_ms = 0
measure_ms = 100

[workload.client_cost]
warmup_ms = 0
measure_ms = 100

[quick]
blocks = 1

[quick.factors]
group = ["P-256"]
"""


# Lines of the file.
PER_CONNECTION = "requests_per_connection = 1"
TITLE, TLS, BYTES = 'title = "A small one"', 'tls = ["1.3"]', "document_bytes = 10"


def test_http_2_with_its_streams_is_read_and_written() -> None:
    text = GOOD.replace(PER_CONNECTION, 'requests_per_connection = 50\nhttp = "2"\nstreams = 10')
    experiment = loads(text, "f")
    assert (experiment.workload.http, experiment.workload.streams) == ("2", 10)
    assert loads(dumps(experiment), "g").workload == experiment.workload
    assert (loads(GOOD, "f").workload.http, loads(GOOD, "f").workload.streams) == ("1.1", 1)


def test_the_shipped_experiment_asks_study_ds_question() -> None:
    experiment = load("groups")
    assert "groups" in shipped()
    assert [factor.name for factor in experiment.factors] == ["tls", "key", "group"]
    assert experiment.workload.document_bytes == 4788
    assert experiment.workload.requests_per_connection == 1
    assert (experiment.blocks, experiment.stopping) == (15, Stopping(0.02, "ranking"))
    assert experiment.baseline == {"group": "X25519"}


def test_the_quick_form_takes_under_a_minute_of_trials() -> None:
    brief = load("groups", "quick")
    trials = brief.blocks * len(brief.factors[2].levels)
    assert (brief.blocks, brief.factors[0].levels, brief.factors[1].levels) == (
        5,
        ("1.3",),
        ("ecdsa-p256",),
    )
    assert trials * brief.workload.trial_seconds < 45
    assert (*brief.factors[2].levels, "SecP256r1MLKEM768") == load("groups").factors[2].levels


def test_a_quick_table_changes_only_what_it_names() -> None:
    full, brief = loads(GOOD, "f"), loads(GOOD, "f", "quick")
    assert (full.blocks, brief.blocks) == (2, 1)
    assert brief.factors == (Factor("tls", ("1.3",)), Factor("group", ("P-256",)))
    assert brief.workload == full.workload


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("blocks = 2", "blocks = 0", "f:4: blocks", "from 1 to 1000"),
        ("blocks = 2", "blocks = true", "f:4: blocks", "whole number"),
        ("blocks = 2", "blocks = = 2", "f:4: not valid TOML", "column 10"),
        ("blocks = 2", "block = 2", "f:4: block: unknown key", "allowed: schema, name, title"),
        ('"P-256"]\n\n[base', '"P-257"]\n\n[base', "f:8: factors.group", "'P-257'; known: X25519"),
        ('tls = ["1.3"]', 'tls = "1.3"', "f:7: factors.tls", "list of texts"),
        ('tls = ["1.3"]', "tls = []", "f:7: factors.tls", "must not be empty"),
        ('tls = ["1.3"]', 'tls = ["1.3", "1.3"]', "f:7: factors.tls", "twice"),
        ('tls = ["1.3"]', 'colour = ["red"]', "f:7: factors.colour", "allowed: server, front"),
        ('group = "X25519"', 'group = "X448"', "f:11: baseline.group", "one of X25519, P-256"),
        ("connections = 4", "conections = 4", "f:15: workload.conections", "connections, requests"),
        ("document_bytes = 10\n", "", "f:13: workload", "'document_bytes' is missing"),
        ("[workload.capacity]", "[workload.capacities]", "f:18: workload.capacities", "capacity"),
        ('name = "small"', 'name = "../up"', "f:2: name", "letters, digits"),
        ('"tlslab.experiment/2"', '"tlslab.experiment/9"', "f:1: schema", "tlslab.experiment/2"),
        (PER_CONNECTION, f"{PER_CONNECTION}\nhttp = 2", "f:17: workload.http", "text"),
        (PER_CONNECTION, f'{PER_CONNECTION}\nhttp = "3"', "f:17: workload.http", "one of 1.1, 2"),
        (PER_CONNECTION, f"{PER_CONNECTION}\nstreams = 2", "f:17: workload.streams", 'http = "2"'),
        (
            PER_CONNECTION,
            f'{PER_CONNECTION}\nhttp = "2"\nstreams = 2',
            "f:18: workload.streams",
            "not be more than requests_per_connection",
        ),
        ("[quick]\nblocks = 1", "[quick]\nblocks = -1", "f:27: quick.blocks", "from 1"),
        (TITLE, f'{TITLE}\nkind = "magic"', "f:4: kind", "one of benchmark, capacity, costs"),
        (BYTES, f'{BYTES}\nresume = "often"', "workload.resume", "one of none, id, ticket, psk"),
        (BYTES, f"{BYTES}\nresume_ratio = 0.5", "workload.resume_ratio", "needs a kind of resump"),
        (BYTES, f'{BYTES}\nresume = "psk"\nresume_ratio = 1.5', "resume_ratio", "from 0 to 1"),
        (BYTES, f'{BYTES}\nresume = "psk"\nresume_ratio = "all"', "resume_ratio", "from 0 to 1"),
        (TLS, "processors = [0]", "f:7: factors.processors", "'0'; known: whole numbers from 1"),
        (TLS, 'processors = ["two"]', "f:7: factors.processors", "unknown name 'two'"),
        (TLS, "processors = [1.5]", "f:7: factors.processors", "must be a list of texts"),
        (TLS, 'server = ["Ngin X"]', "factors.server", "'Ngin X'; known: names of targets"),
        (
            TLS,
            "dh_bits = [512]",
            "factors.dh_bits",
            "'512'; known: 1024, 2048, 3072, 4096, 1",
        ),
        (TLS, 'connector = ["apr"]', "factors.connector", "'apr'; known: jsse, openssl"),
    ],
)
def test_a_fault_is_reported_with_line_key_and_what_is_allowed(
    old: str, new: str, place: str, words: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(ExperimentError) as caught:
        loads(GOOD.replace(old, new), "f")
    assert place in caught.value.message
    assert words in caught.value.message
    assert caught.value.exit_code == 2


def test_a_fault_in_a_list_of_tables_has_the_line_of_its_own_entry() -> None:
    text = GOOD + '\n[[pin]]\nwhen = { tls = "1.3" }\n\n[[pin]]\nwhen = { tls = "1.2" }\n'
    with pytest.raises(ExperimentError) as caught:
        loads(text + 'suites = ["TLS_NO_SUCH"]\n', "f")
    assert caught.value.line == len(text.splitlines()) + 1


def test_an_unknown_experiment_names_the_shipped_ones() -> None:
    with pytest.raises(UsageError) as caught:
        load("no-such-file")
    assert "groups" in caught.value.remedy


def test_set_replaces_levels_accepts_aliases_and_moves_the_baseline() -> None:
    changed = with_levels(loads(GOOD, "f"), {"group": ("secp384r1", "x448", "P-384")})
    assert changed.factors[-1] == Factor("group", ("P-384", "X448"))
    assert changed.baseline == {"group": "P-384"}


def test_set_can_add_a_factor_in_its_usual_place() -> None:
    changed = with_levels(loads(GOOD, "f"), {"key": ("rsa-2048",)})
    assert [factor.name for factor in changed.factors] == ["tls", "key", "group"]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"group": ("X25518",)}, "unknown group 'X25518'; known: X25519, P-256"),
        ({"suite": ("RC4",)}, "unknown suite 'RC4'; known: TLS_AES_128_GCM_SHA256"),
        ({"curve": ("P-256",)}, "unknown factor 'curve'; known: server, front, processors"),
        ({"tls": ("1.4",)}, "unknown tls '1.4'; known: none, 1.2, 1.3"),
    ],
)
def test_set_reports_what_is_known(levels: dict[str, tuple[str, ...]], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        with_levels(loads(GOOD, "f"), levels)


texts = st.text(min_size=1, max_size=30).filter(lambda text: "\r" not in text)
# The levels of the factors that are lists of names.
KNOWN_LEVELS = {name: row.rule.known for name, row in COMMON.items() if row.rule.known}

windows = st.builds(Window, st.integers(0, 10_000), st.integers(100, 10_000))
whens = st.fixed_dictionaries({}, optional={"tls": texts, "key": texts})


def _factor(name: str, levels: list[str]) -> Factor:
    return Factor(name, tuple(levels))


factors = st.sets(st.sampled_from(list(KNOWN_LEVELS)), min_size=1).flatmap(
    lambda names: st.tuples(
        *(
            st.lists(st.sampled_from(KNOWN_LEVELS[name]), min_size=1, unique=True).map(
                partial(_factor, name)
            )
            for name in sorted(names)
        )
    )
)
experiments = st.builds(
    Experiment,
    name=st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True),
    title=texts,
    factors=factors,
    baseline=st.just({}),
    workload=st.builds(
        Workload,
        st.integers(1, 1 << 30),
        st.integers(1, 65_536),
        st.integers(1, 1000),
        windows,
        windows,
    ),
    blocks=st.integers(1, 1000),
    exclusions=st.lists(st.builds(Exclusion, whens, texts), max_size=3).map(tuple),
    pins=st.lists(
        st.builds(Pin, whens, st.sampled_from([(), KNOWN_LEVELS["suite"][:2]])), max_size=3
    ).map(tuple),
    published=st.none() | texts,
)


@given(st.sampled_from(RESUMPTIONS[1:]), st.floats(0, 1))
def test_resumption_is_read_back_as_it_was_written(resume: str, ratio: float) -> None:
    experiment = loads(GOOD, "f")
    workload = replace(experiment.workload, resume=resume, resume_ratio=ratio)
    resuming = replace(experiment, workload=workload)
    assert loads(dumps(resuming), "f") == resuming


@given(experiments)
def test_any_experiment_is_read_back_as_written(experiment: Experiment) -> None:
    assert loads(dumps(experiment), "f") == experiment


KEEP_ALIVE = """
[workload.keep_alive]
warmup_ms = 1000
measure_ms = 2000
connections = 128
"""


def test_a_run_on_connections_kept_open_is_read_and_written() -> None:
    experiment = loads(GOOD.replace("[quick]", KEEP_ALIVE + "\n[quick]"), "f")
    assert experiment.workload.keep_alive == KeepAlive(Window(1000, 2000), 128)
    assert experiment.workload.trial_seconds == pytest.approx(3.2)
    assert loads(dumps(experiment), "g").workload == experiment.workload
    over_h2 = KEEP_ALIVE + 'http = "2"\nstreams = 4\n'
    experiment = loads(GOOD.replace("[quick]", over_h2 + "\n[quick]"), "f")
    assert experiment.workload.keep_alive == KeepAlive(Window(1000, 2000), 128, "2", 4)
    assert loads(dumps(experiment), "g").workload == experiment.workload


def test_servers_and_how_they_are_set_up_are_factors() -> None:
    more = 'server = ["nginx", "reference"]\nprocessors = [1, 2]\nfront = ["none", "haproxy"]\n'
    experiment = loads(GOOD.replace('tls = ["1.3"]', more + 'tls = ["1.3"]'), "f")
    assert experiment.levels("processors") == ("1", "2")
    assert experiment.levels("jdk") == ()
    assert loads(dumps(experiment), "g").factors == experiment.factors


def test_set_adds_a_server_side_factor_before_the_others() -> None:
    changed = with_levels(loads(GOOD, "f"), {"server": ("nginx", "reference")})
    assert [factor.name for factor in changed.factors] == ["server", "tls", "group"]
    with pytest.raises(UsageError, match="unknown processors 'all'; known: whole numbers"):
        with_levels(loads(GOOD, "f"), {"processors": ("all",)})
