"""Experiment files: TOML in, `model.experiment.Experiment` out, and back.

docs/reference describes the format. A `[quick]` table may repeat `blocks`, `factors` and `workload`
with the values that a quick run takes instead.
"""

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from tlslab.model.errors import UsageError
from tlslab.model.experiment import FACTOR_NAMES, Exclusion, Experiment, Factor, Pin
from tlslab.model.names import (
    CERTIFICATE_KEYS,
    GROUPS,
    SIGNATURE_SCHEMES,
    SUITES,
    TLS_VERSIONS,
    find_group,
    find_suite,
    is_key,
)
from tlslab.model.workload import RESUMPTIONS, Window, Workload
from tlslab.toml_table import Table, parse

SCHEMA = "tlslab.experiment/1"
LIMIT_BLOCKS = 1000
LIMIT_CONNECTIONS = 65_536
LIMIT_WINDOW_MS = 3_600_000
LIMIT_DOCUMENT_BYTES = 1 << 30
LIMIT_STREAMS = 1000

HTTP_VERSIONS = ("1.1", "2")

KNOWN_LEVELS: Mapping[str, tuple[str, ...]] = {
    "tls": TLS_VERSIONS,
    "key": CERTIFICATE_KEYS,
    "group": tuple(group.name for group in GROUPS),
    "suite": tuple(suite.name for suite in SUITES),
}


def shipped() -> tuple[str, ...]:
    """The names of the experiments that come with tlslab."""
    folder = resources.files("tlslab") / "experiments"
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load(name: str, quick: bool = False) -> Experiment:
    """The shipped experiment of that name, or the one in the file of that name.

    Raises UsageError when there is neither, ExperimentError when the file is faulty.
    """
    if name in shipped():
        text = (resources.files("tlslab") / "experiments" / f"{name}.toml").read_text("utf-8")
        return loads(text, f"{name}.toml", quick)
    path = Path(name)
    try:
        return loads(path.read_text("utf-8"), name, quick)
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not a text in UTF-8") from None
    except OSError as error:
        known = ", ".join(shipped())
        raise UsageError(
            f"no experiment '{name}': {error.strerror}",
            f"give a file, or one of the shipped experiments: {known}",
        ) from None


def loads(text: str, source: str, quick: bool = False) -> Experiment:
    """The experiment that a text in TOML describes; both its forms are checked, one is returned."""
    root = parse(text, source)
    experiment = _experiment(root, root)
    if "quick" not in root:
        if quick:
            raise root.error("has no [quick] table, so there is no quick form of it")
        return experiment
    changes = root.table("quick")
    changes.only("blocks", "factors", "workload")
    brief = _experiment(root, changes)
    return brief if quick else experiment


def _experiment(root: Table, changes: Table) -> Experiment:
    root.only(
        "schema", "name", "title", "published", "blocks", "factors", "baseline", "workload",
        "exclude", "pin", "quick",
    )  # fmt: skip
    if root.text("schema") != SCHEMA:
        raise root.error(f'must be "{SCHEMA}"', "schema")
    factors = _factors(root, changes)
    return Experiment(
        name=_name(root),
        title=root.text("title"),
        factors=factors,
        baseline=_baseline(root.table("baseline"), root.table("factors")),
        workload=_workload(root, changes),
        blocks=(changes if "blocks" in changes else root).integer("blocks", 1, LIMIT_BLOCKS),
        exclusions=tuple(_exclusion(table) for table in root.tables("exclude")),
        pins=tuple(_pin(table) for table in root.tables("pin")),
        published=root.text("published") if "published" in root else None,
        quick=changes is not root,
    )


def _name(root: Table) -> str:
    """The name becomes part of a folder's name, so that its characters are limited."""
    name = root.text("name")
    if not all(c.isascii() and (c.isalnum() or c in "-_") for c in name) or len(name) > 64:
        raise root.error("may have letters, digits, '-' and '_' only, 64 at most", "name")
    return name


def _factors(root: Table, changes: Table) -> tuple[Factor, ...]:
    table = root.table("factors")
    table.only(*FACTOR_NAMES)
    if not table.data:
        raise table.error(f"needs at least one factor of {', '.join(FACTOR_NAMES)}")
    changed = changes.table("factors") if "factors" in changes else table
    changed.only(*table.data)
    sources = {name: changed if name in changed else table for name in table.data}
    return tuple(
        Factor(name, source.names(name, KNOWN_LEVELS[name], is_key if name == "key" else None))
        for name, source in sources.items()
    )


def _baseline(table: Table, factors: Table) -> dict[str, str]:
    table.only(*factors.data)
    for name in table.data:
        if table.text(name) not in factors.data[name]:
            raise table.error(f"must be one of {', '.join(factors.data[name])}", name)
    return dict(table.data)


def _workload(root: Table, changes: Table) -> Workload:
    base = root.table("workload")
    changed = changes.table("workload") if "workload" in changes else base
    for table in (base, changed):
        table.only(
            "document_bytes", "connections", "requests_per_connection", "http", "streams",
            "capacity", "client_cost", "resume", "resume_ratio",
        )  # fmt: skip

    def number(key: str, least: int, most: int) -> int:
        return (changed if key in changed else base).integer(key, least, most)

    def optional(key: str) -> Table | None:
        return next((table for table in (changed, base) if key in table), None)

    resume = _resume(changed if "resume" in changed else base)
    ratio = changed if "resume_ratio" in changed else base
    if resume == "none" and "resume_ratio" in ratio:
        raise ratio.error("needs a kind of resumption, which 'resume' names", "resume_ratio")
    workload = Workload(
        document_bytes=number("document_bytes", 1, LIMIT_DOCUMENT_BYTES),
        connections=number("connections", 1, LIMIT_CONNECTIONS),
        requests_per_connection=number("requests_per_connection", 1, 1_000_000),
        capacity=_window((changed if "capacity" in changed else base).table("capacity")),
        client_cost=_window((changed if "client_cost" in changed else base).table("client_cost")),
        http=_http(version) if (version := optional("http")) else "1.1",
        streams=count.integer("streams", 1, LIMIT_STREAMS) if (count := optional("streams")) else 1,
        resume=resume,
        resume_ratio=ratio.share("resume_ratio") if "resume_ratio" in ratio else 1.0,
    )
    if workload.streams > 1:
        place = optional("streams") or base
        if workload.http != "2":
            raise place.error('more than 1 only with http = "2"', "streams")
        if workload.streams > workload.requests_per_connection:
            raise place.error("must not be more than requests_per_connection", "streams")
    return workload


def _http(table: Table) -> str:
    version = table.text("http")
    if version not in HTTP_VERSIONS:
        raise table.error(f"must be one of {', '.join(HTTP_VERSIONS)}", "http")
    return version


def _resume(table: Table) -> str:
    if "resume" not in table:
        return "none"
    if table.text("resume") not in RESUMPTIONS:
        raise table.error(f"must be one of {', '.join(RESUMPTIONS)}", "resume")
    return table.text("resume")


def _window(table: Table) -> Window:
    table.only("warmup_ms", "measure_ms")
    return Window(
        warmup_ms=table.integer("warmup_ms", 0, LIMIT_WINDOW_MS),
        measure_ms=table.integer("measure_ms", 100, LIMIT_WINDOW_MS),
    )


def _when(table: Table) -> dict[str, str]:
    """Levels that a cell must have; `*` in a level stands for any characters."""
    when = table.table("when")
    when.only(*FACTOR_NAMES)
    return {name: when.text(name) for name in when.data}


def _exclusion(table: Table) -> Exclusion:
    table.only("when", "reason")
    return Exclusion(when=_when(table), reason=table.text("reason"))


def _pin(table: Table) -> Pin:
    table.only("when", "suites", "signature_schemes")
    suites = table.names("suites", KNOWN_LEVELS["suite"]) if "suites" in table else ()
    schemes: tuple[str, ...] = ()
    if "signature_schemes" in table:
        schemes = table.names("signature_schemes", SIGNATURE_SCHEMES)
    return Pin(when=_when(table), suites=suites, signature_schemes=schemes)


def with_levels(experiment: Experiment, changes: Mapping[str, tuple[str, ...]]) -> Experiment:
    """The experiment with other levels for some factors, as `--set FACTOR=LEVEL,LEVEL` asks for.

    A factor that the experiment does not vary is added. A baseline that is no longer among the
    levels gives way to the first of them. Raises UsageError with the known names.
    """
    levels = {factor.name: factor.levels for factor in experiment.factors}
    for name, wanted in changes.items():
        if name not in FACTOR_NAMES:
            raise UsageError(f"unknown factor '{name}'; known: {', '.join(FACTOR_NAMES)}")
        levels[name] = tuple(dict.fromkeys(_level(name, level) for level in wanted))
    baseline = {
        name: level if level in levels[name] else levels[name][0]
        for name, level in experiment.baseline.items()
    }
    factors = tuple(Factor(name, levels[name]) for name in FACTOR_NAMES if name in levels)
    fields = {**vars(experiment), "factors": factors, "baseline": baseline}
    return Experiment(**fields)


def _level(factor: str, level: str) -> str:
    """A level's own name, given that or an alias of it."""
    found = {"group": find_group, "suite": find_suite}.get(factor, lambda _: None)(level)
    name = found.name if found else level
    if name not in KNOWN_LEVELS[factor]:
        raise UsageError(f"unknown {factor} '{level}'; known: {', '.join(KNOWN_LEVELS[factor])}")
    return name


def dumps(experiment: Experiment) -> str:
    """The experiment as a text that `loads` reads back to an equal one (but for `quick`)."""
    workload = experiment.workload
    lines = [f"schema = {_toml(SCHEMA)}"]
    for name in ("name", "title", "published", "blocks"):
        if (value := getattr(experiment, name)) is not None:
            lines.append(f"{name} = {_toml(value)}")
    lines += ["", "[factors]"]
    lines += [f"{factor.name} = {_toml(factor.levels)}" for factor in experiment.factors]
    lines += ["", "[baseline]"]
    lines += [f"{name} = {_toml(level)}" for name, level in experiment.baseline.items()]
    lines += ["", "[workload]"]
    for name in ("document_bytes", "connections", "requests_per_connection"):
        lines.append(f"{name} = {getattr(workload, name)}")
    lines += [f"http = {_toml(workload.http)}", f"streams = {workload.streams}"]
    if workload.resume != "none":
        lines.append(f"resume = {_toml(workload.resume)}")
        lines.append(f"resume_ratio = {workload.resume_ratio}")
    for name, window in (("capacity", workload.capacity), ("client_cost", workload.client_cost)):
        lines += ["", f"[workload.{name}]"]
        lines += [f"warmup_ms = {window.warmup_ms}", f"measure_ms = {window.measure_ms}"]
    for exclusion in experiment.exclusions:
        lines += ["", "[[exclude]]", f"when = {_toml(exclusion.when)}"]
        lines += [f"reason = {_toml(exclusion.reason)}"]
    for pin in experiment.pins:
        lines += ["", "[[pin]]", f"when = {_toml(pin.when)}"]
        lines += [f"suites = {_toml(pin.suites)}"] if pin.suites else []
        schemes = pin.signature_schemes
        lines += [f"signature_schemes = {_toml(schemes)}"] if schemes else []
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value in TOML; a JSON string without raw control characters is a TOML basic string."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
