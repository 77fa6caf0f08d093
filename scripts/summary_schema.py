"""Prints the JSON Schema of summary.json, made from the dataclasses that are written to it."""

import json
import sys

from pydantic import TypeAdapter

from tlslab.domain.finding import Summary

schema = TypeAdapter(Summary).json_schema()
# As in tlslab.domain.codec, the name in JSON has no underscore.
for kind in schema["$defs"].values():
    if "class_" in kind.get("properties", {}):
        kind["properties"]["class"] = kind["properties"].pop("class_")
        kind["required"] = ["class" if name == "class_" else name for name in kind["required"]]
schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
json.dump(schema, sys.stdout, indent=4, sort_keys=True)
sys.stdout.write("\n")
