"""The types of the JSON contract with the engine, made from schema/ (scripts/contract_types.py)."""
