"""Prints the JSON Schema of summary.json, made from the dataclasses that are written to it."""

import json
import sys

from pydantic import TypeAdapter

from tlslab.domain.factors import DEPLOYED
from tlslab.domain.finding import Summary

schema = TypeAdapter(Summary).json_schema()
# As in tlslab.domain.codec, the name in JSON has no underscore.
for kind in schema["$defs"].values():
    if "class_" in kind.get("properties", {}):
        kind["properties"]["class"] = kind["properties"].pop("class_")
        kind["required"] = ["class" if name == "class_" else name for name in kind["required"]]
# The levels of a deployment are fields of their own there.
deployment = schema["$defs"].pop("Deployment")
del schema["$defs"]["Levels"], deployment["properties"]["levels"]
NAMES = {int: "integer", str: "string", bool: "boolean"}
for name, row in DEPLOYED.items():
    kinds = [row.value] if row.value in NAMES else map(type, map(row.value, row.rule.known))
    types = [{"type": kind} for kind in dict.fromkeys(NAMES[each] for each in kinds)]
    deployment["properties"][name] = {"anyOf": [*types, {"type": "null"}], "default": None}
schema["$defs"]["Deployment"] = deployment
schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
json.dump(schema, sys.stdout, indent=4, sort_keys=True)
sys.stdout.write("\n")
