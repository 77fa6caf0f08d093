"""Benches: the generator against its rivals, the physical floor and a direct loop; instructions."""
