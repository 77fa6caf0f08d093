"""From a file to an experiment, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from tlslab.domain.command_line import did_you_mean
from tlslab.domain.errors import UsageError
from tlslab.domain.experiment import (
    DEFAULT_KIND,
    ConditionalFactor,
    Exclusion,
    Experiment,
    Factor,
    Pin,
)
from tlslab.domain.factors import FACTORS, FactorRow, Rule
from tlslab.domain.names import BACKENDS, CERTIFICATE_KEYS, NO_TLS, SIGNATURE_SCHEMES
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.kinds import FILE_KINDS, file_kind
from tlslab.experiment.short import asked_for, shortened
from tlslab.toml_table import Table, parse, toml

SCHEMA = "tlslab.experiment/2"
LIMIT_BLOCKS = 1000

_COMMON = (
    "schema", "name", "title", "kind", "published", "blocks", "factors", "baseline", "exclude",
    "pin", "only", "quick", "as_published",
)  # fmt: skip

# The form of an experiment: the file's own, or that with the values of a table. The option of each.
Form = Literal["", "quick", "as_published"]
_FORMS: Mapping[str, str] = {"quick": "--quick", "as_published": "--as-published"}


def shipped() -> tuple[str, ...]:
    """The names of the experiments that come with tlslab."""
    return tuple(sorted(_shipped()))


@cache
def _shipped() -> Mapping[str, Traversable]:
    """The files of the shipped experiments by name: those of studies are in the studies' rooms."""
    root = resources.files("tlslab")
    rooms = [room for room in (root / "studies").iterdir() if room.is_dir()]
    files = [file for room in (root / "experiments", *rooms) for file in room.iterdir()]
    return {
        file.name.removesuffix(".toml"): file
        for file in files
        if file.name.endswith(".toml") and file.name != "published.toml"
    }


def load(name: str, form: Form = "") -> Experiment:
    """The shipped experiment with this name, or the one in the file with this name, in a form.

    Shortened if TLSLAB_SHORT_RUNS is set. Raises UsageError if there is neither, ExperimentError if
    the file is faulty.
    """
    experiment = _load(name, form)
    return shortened(experiment, file_kind(experiment)) if asked_for() else experiment


def _load(name: str, form: Form) -> Experiment:
    if name in _shipped():
        return loads(_shipped()[name].read_text("utf-8"), f"{name}.toml", form)
    path = Path(name)
    try:
        return loads(path.read_text("utf-8"), name, form)
    except UnicodeDecodeError:
        raise UsageError(
            f"{name}: not a text in UTF-8", "give an experiment file in TOML"
        ) from None
    except OSError as error:
        known = ", ".join(shipped())
        meant = did_you_mean(name, shipped())
        raise UsageError(
            f"no experiment '{name}': {error.strerror}",
            f"{meant} give a file, or one of the shipped experiments: {known}".lstrip(),
        ) from None


def loads(text: str, source: str, form: Form = "") -> Experiment:
    """The experiment in a TOML text; all its forms are checked, one is returned."""
    root = parse(text, source)
    kind = _kind(root)
    found = {"": _experiment(root, root, kind)}
    for name in _FORMS:
        if name in root:
            changes = root.table(name)
            changes.only("blocks", "factors", "exclude", *FILE_KINDS[kind].tables)
            found[name] = _experiment(root, changes, kind)
    if form not in found:
        raise root.error(f"has no [{form}] table, which {_FORMS[form]} needs")
    return found[form]


def _kind(root: Table) -> str:
    name = root.text("kind") if "kind" in root else DEFAULT_KIND
    if name not in FILE_KINDS:
        raise root.error(f"must be one of {', '.join(FILE_KINDS)}", "kind")
    return name


def _experiment(root: Table, changes: Table, name: str) -> Experiment:
    kind = FILE_KINDS[name]
    root.only(*_COMMON, *kind.tables)
    if root.text("schema") != SCHEMA:
        raise root.error(f'must be "{SCHEMA}"', "schema")
    factors = _factors(root, changes, kind.factors)
    only = tuple(_only(table, kind) for table in root.tables("only"))
    return Experiment(
        name=_name(root),
        title=root.text("title"),
        factors=factors,
        baseline=_baseline(root.table("baseline"), factors, root.table("factors"), only),
        blocks=(changes if "blocks" in changes else root).integer("blocks", 1, LIMIT_BLOCKS),
        exclusions=tuple(
            _exclusion(table, kind)
            for table in (changes if "exclude" in changes else root).tables("exclude")
        ),
        pins=tuple(_pin(table, kind) for table in root.tables("pin")),
        only=only,
        published=root.text("published") if "published" in root else None,
        quick="quick" in root and changes.data is root.data["quick"],
        kind=name,
        **kind.read(root, changes),
    )


def _name(root: Table) -> str:
    """The name, limited in its characters because it becomes part of a folder's name."""
    name = root.text("name")
    if not all(c.isascii() and (c.isalnum() or c in "-_") for c in name) or len(name) > 64:
        raise root.error("may have letters, digits, '-' and '_' only, 64 at most", "name")
    return name


def _when(table: Table, kind: FileKind) -> dict[str, str]:
    """Levels that a cell must have; `*` in a level stands for any characters."""
    when = table.table("when")
    when.only(*kind.factors)
    return {name: when.text(name) for name in when.data}


def _exclusion(table: Table, kind: FileKind) -> Exclusion:
    table.only("when", "reason")
    return Exclusion(when=_when(table, kind), reason=table.text("reason"))


def _only(table: Table, kind: FileKind) -> ConditionalFactor:
    table.only("factor", "when", "otherwise")
    factor = table.text("factor")
    if factor not in kind.factors:
        raise table.error(f"must be one of {', '.join(kind.factors)}", "factor")
    return ConditionalFactor(factor, _when(table, kind), table.text("otherwise"))


def _pin(table: Table, kind: FileKind) -> Pin:
    known = {
        "suites": FACTORS["suite"].rule.known,
        "signature_schemes": SIGNATURE_SCHEMES,
        "groups": FACTORS["group"].rule.known,
    }
    table.only("when", *known, "key", "backend")
    return Pin(
        when=_when(table, kind),
        key=_one_of(table, "key", CERTIFICATE_KEYS),
        backend=_one_of(table, "backend", BACKENDS),
        **{name: table.names(name, names) for name, names in known.items() if name in table},
    )


def _one_of(table: Table, name: str, known: Sequence[str]) -> str | None:
    if name not in table:
        return None
    if table.text(name) not in known:
        raise table.error(f"must be one of {', '.join(known)}", name)
    return table.text(name)


def with_levels(experiment: Experiment, changes: Mapping[str, tuple[str, ...]]) -> Experiment:
    """The experiment with other levels for some factors, as in `--set FACTOR=LEVEL,LEVEL`.

    A factor that the experiment does not vary is added. A baseline that is no longer among the
    levels is replaced by the first of them. Raises UsageError with the known names.
    """
    rows = file_kind(experiment).factors
    levels = {factor.name: factor.levels for factor in experiment.factors}
    for name, wanted in changes.items():
        if name not in rows:
            message = f"unknown factor '{name}'; known: {', '.join(rows)}"
            raise UsageError(message, did_you_mean(name, rows))
        levels[name] = tuple(
            dict.fromkeys(_level(name, level, rows[name].rule) for level in wanted)
        )
    elsewhere = {(only.factor, only.otherwise) for only in experiment.only}
    baseline = {
        name: level if level in levels[name] or (name, level) in elsewhere else levels[name][0]
        for name, level in experiment.baseline.items()
    }
    factors = tuple(Factor(name, levels[name]) for name in rows if name in levels)
    return replace(experiment, factors=factors, baseline=baseline)


def at_url(experiment: Experiment) -> Experiment:
    """The experiment at the server of a URL: without the one level of a factor that only the lab's
    own servers have, and without the cells without TLS.
    """
    kept = (f for f in experiment.factors if len(f.levels) > 1 or not FACTORS[f.name].own_servers)
    factors = tuple(replace(f, levels=tuple(n for n in f.levels if n != NO_TLS)) if f.name == "tls"
                    else f for f in kept)  # fmt: skip
    return replace(experiment, factors=factors)


def dumps(experiment: Experiment) -> str:
    """The experiment as a text that `loads` reads back to an equal one (except for `quick`)."""
    lines = [f"schema = {toml(SCHEMA)}"]
    if experiment.kind != DEFAULT_KIND:
        lines.append(f"kind = {toml(experiment.kind)}")
    for name in ("name", "title", "published", "blocks"):
        if (value := getattr(experiment, name)) is not None:
            lines.append(f"{name} = {toml(value)}")
    lines += ["", "[factors]"]
    lines += [f"{factor.name} = {toml(factor.levels)}" for factor in experiment.factors]
    lines += ["", "[baseline]"]
    lines += [f"{name} = {toml(level)}" for name, level in experiment.baseline.items()]
    lines += file_kind(experiment).write(experiment)
    for exclusion in experiment.exclusions:
        lines += ["", "[[exclude]]", f"when = {toml(exclusion.when)}"]
        lines += [f"reason = {toml(exclusion.reason)}"]
    for pin in experiment.pins:
        lines += ["", "[[pin]]", f"when = {toml(pin.when)}"]
        for name in ("suites", "signature_schemes", "groups", "key", "backend"):
            lines += [f"{name} = {toml(value)}"] if (value := getattr(pin, name)) else []
    for only in experiment.only:
        lines += ["", "[[only]]", f"factor = {toml(only.factor)}"]
        lines += [f"when = {toml(only.when)}", f"otherwise = {toml(only.otherwise)}"]
    return "\n".join(lines) + "\n"


def _factors(root: Table, changes: Table, rows: Mapping[str, FactorRow]) -> tuple[Factor, ...]:
    """The factors of a file; levels in `changes` replace the file's, or are of one more factor."""
    table = root.table("factors")
    table.only(*rows)
    if not table.data:
        raise table.error(f"needs at least one factor of {', '.join(rows)}")
    changed = changes.table("factors") if "factors" in changes else table
    changed.only(*rows)
    sources = dict.fromkeys(table.data, table) | dict.fromkeys(changed.data, changed)
    return tuple(
        Factor(name, _levels(source, name, rows[name].rule)) for name, source in sources.items()
    )


def _levels(table: Table, name: str, rule: Rule) -> tuple[str, ...]:
    """Levels by their canonical names, as in files; numbers may be given without quotes."""
    for level in (levels := table.levels(name)):
        if level not in rule.known and not (rule.accepts and rule.accepts(level)):
            raise table.error(
                f"unknown name '{level}'; known: {rule.allowed}",
                name,
                did_you_mean(level, rule.known),
            )
    return levels


def _baseline(
    table: Table,
    factors: Sequence[Factor],
    all_levels: Table,
    only: Sequence[ConditionalFactor] = (),
) -> dict[str, str]:
    """A level for some of the factors, out of all levels that the file has for them."""
    table.only(*(factor.name for factor in factors))
    for name in table.data:
        allowed = (*all_levels.levels(name), *(o.otherwise for o in only if o.factor == name))
        if table.text(name) not in allowed:
            raise table.error(f"must be one of {', '.join(allowed)}", name)
    return dict(table.data)


def _level(factor: str, level: str, rule: Rule) -> str:
    name = rule.level(level)
    if name is None:
        message = f"unknown {factor} '{level}'; known: {rule.allowed}"
        raise UsageError(message, did_you_mean(level, rule.known))
    return name
