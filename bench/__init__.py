"""Benches: the generator against its rivals and against the physical floor."""
