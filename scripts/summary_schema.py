"""Prints the JSON Schema of summary.json, made from the dataclasses that are written to it."""

import json
import sys

from pydantic import TypeAdapter

from tlslab.model.finding import Summary

schema = TypeAdapter(Summary).json_schema()
schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
json.dump(schema, sys.stdout, indent=4, sort_keys=True)
sys.stdout.write("\n")
