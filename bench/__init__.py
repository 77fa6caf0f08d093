"""Benches: the generator against its rivals, the limit and a direct loop; instructions."""
