"""Makes python/tlslab/contract/ from schema/: `contract_types.py write`, or `check` for drift.

A type is a frozen dataclass with the names of its schema, and the first sentence of a description
where that fits.
"""

import difflib
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "python/tlslab/contract"
SCHEMAS = ("record", "probe", "primitives", "hold")

# Types whose Rust name says too little beside those of the lab.
NAMES = {
    "Accepted": "AcceptedSuites",
    "Accepted2": "AcceptedItems",
    "CountedReason": "FailureReason",
    "Example": "FailedConnection",
    "Level": "HeldLevel",
    "PrimitivesRecord": "Primitives",
    "Summary": "TimeSummary",
}

# Types that the lab stores and hands on, and of which it reads single values by their names.
OPAQUE = ("Environment", "PrimitivesSpec", "RunSpec")

# Types that functions take in place of another one, of which they have all fields.
BASES = {"CountedFacts": "Facts", "Suite": "Named"}

# The fields that the lab reads of a type, where it has no use for the others.
READ = {
    "Chain": "versions key subject issuer not_before not_after signature_algorithm name_matches"
    " must_staple problem staple trusted verdict",
    "Compression": "records",
    "HoldRecord": "backend address empty levels attempts alive lost failed interrupted",
    "LargeHello": "bytes accepted refusal",
    "OfferFound": "accepted refusal",
    "PrimitivesRecord": "primitives",
    "ProbeRecord": "target address server_name versions suites groups signature_schemes"
    " certificates alpn client_certificate compression dh_prime hints incomplete large_hello offers"
    " protections renegotiation resumption trust unanswered",
    "Protections": "encrypt_then_mac extended_master_secret fallback_scsv",
    "Protocols": "accepted failed",
    "Resumption": "early_data_accepted max_early_data_bytes psk_ke",
    "Staple": "status",
    "Suite": "name code_point bits group",
    "Accepted": "version accepted order",
    "Accepted2": "version accepted order",
    "VersionFound": "version accepted",
}

# What fields are in files of earlier versions, which lack them.
EARLIER = {
    ("Chain", "issuer"): "",
    ("Chain", "name_matches"): True,
    ("Chain", "subject"): "",
    ("CountedFacts", "count"): 0,
    ("CountedReason", "examples"): [],
    ("Facts", "alpn"): "none",
    ("Facts", "early_data"): "none",
    ("Facts", "resumed_by"): "none",
    ("ProbeRecord", "offers"): [],
}

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Module:
    """The Python module of one schema."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._types: Json = {**schema["$defs"], schema["title"]: schema}
        self._classes: dict[str, str] = {}
        self._absent: dict[str, Json] = {}
        for kind in list(self._types.values()):
            for field in kind.get("properties", {}).values():
                if isinstance(default := field.get("default"), dict) and "$ref" in field:
                    self._absent[_name(field)] = default

    def text(self, name: str) -> str:
        """The module's source."""
        self._add(self._schema["title"])
        body = "\n\n".join(self._classes.values())
        return (
            f'"""{_short(self._schema)} Made from schema/{name}.json by `make schema`."""\n\n'
            f"from collections.abc import Mapping\nfrom dataclasses import dataclass, field\n"
            f"from typing import Any\n\n\n{body}\n"
        )

    def _add(self, name: str) -> None:
        if name in self._classes:
            return
        base = BASES.get(name)
        if base is not None:
            self._add(base)
        body = "".join(f"    {line}\n" for line in self._fields(name, base))
        title = f"{NAMES.get(name, name)}({base})" if base else NAMES.get(name, name)
        words = textwrap.fill(f'"""{_short(self._types[name])}"""', 96).replace("\n", "\n    ")
        if "\n" in words:
            words = words[:-3] + '\n    """'
        self._classes[name] = f"@dataclass(frozen=True)\nclass {title}:\n    {words}\n\n{body}"

    def _fields(self, name: str, base: str | None) -> list[str]:
        kind = self._types[name]
        ordered = [*kind.get("required", []), *sorted(kind["properties"])]
        read = READ[name].split() if name in READ else ordered
        if unknown := set(read) - set(ordered):
            raise SystemExit(f"{name} has no {', '.join(sorted(unknown))}")
        inherited = self._types[base]["properties"] if base else {}
        own = [each for each in dict.fromkeys(ordered) if each in read and each not in inherited]
        lines = [self._field(name, each) for each in own]
        return sorted(lines, key=lambda line: " = " in line.partition("#")[0])

    def _field(self, name: str, field: str) -> str:
        content, default = self._types[name]["properties"][field], ""
        absent = self._absent.get(name, {})
        if (name, field) in EARLIER or field in absent:
            default = self._default(content, EARLIER.get((name, field), absent.get(field)))
        elif field not in self._types[name].get("required", []):
            default = self._default(content, content.get("default"))
        line = f"{'class_' if field == 'class' else field}: {self._type(content)}{default}"
        words = _short(content)
        return f"{line}  # {words}" if words and len(line) + len(words) <= 91 else line

    def _default(self, content: Json, value: object) -> str:
        if isinstance(value, dict):
            return f" = field(default_factory={NAMES.get(_name(content), _name(content))})"
        return f" = {tuple(value) if isinstance(value, list) else value!r}"

    def _type(self, content: Json) -> str:
        if "$ref" in content:
            return self._named(_name(content))
        if parts := content.get("anyOf"):
            return " | ".join(self._type(part) for part in parts)
        kind = content.get("type")
        if isinstance(kind, list):
            return " | ".join(self._type({**content, "type": each}) for each in kind)
        if kind == "array":
            return f"tuple[{self._type(content['items'])}, ...]"
        if kind == "object":
            return f"Mapping[str, {self._type(content['additionalProperties'])}]"
        return PLAIN[str(kind)]

    def _named(self, name: str) -> str:
        if name in OPAQUE:
            return "Mapping[str, Any]"
        if "properties" not in self._types[name]:
            return "str"
        self._add(name)
        return NAMES.get(name, name)


def _name(content: Json) -> str:
    return str(content.get("$ref", "dict")).rpartition("/")[2]


def _short(content: Mapping[str, Any]) -> str:
    """The first sentence of a description."""
    words = " ".join(str(content.get("description", "")).split("\n\n")[0].split())
    sentence = re.split(r"(?<=[^.]\.) (?=[A-Z`])", words)[0]
    return sentence.replace("[`", "`").replace("`]", "`")


def _tidy(source: str) -> str:
    for command in (["check", "-q", "--fix", "--select=F401,I"], ["format", "-q"]):
        line = [str(Path(sys.executable).with_name("ruff")), *command, "-"]
        source = subprocess.run(
            line, input=source, capture_output=True, text=True, check=True
        ).stdout
    return source


def main(mode: str) -> int:
    """Writes the modules, or prints how they differ from the schemas; returns the exit code."""
    drift = 0
    for name in SCHEMAS:
        made = _tidy(Module(json.loads((ROOT / f"schema/{name}.json").read_text())).text(name))
        file = FOLDER / f"{name}.py"
        if mode == "write":
            file.write_text(made)
        elif made != (now := file.read_text()):
            drift = 1
            changes = difflib.unified_diff(now.splitlines(True), made.splitlines(True), str(file))
            sys.stderr.writelines([*changes, "run 'make schema'\n"])
    return drift


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
